"""The comparison of schemes under the same users, with the uncongested network as the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import polars as pl

from aqmlab import stats
from aqmlab._core import SpecError
from aqmlab.cells.differences import check_one_experiment
from aqmlab.metrics.parts import Parts
from aqmlab.results import notebook, timeseries
from aqmlab.results.cells import BASELINE
from aqmlab.results.measures import MeasuredRow, check_cells, measured, read_measures, slowdown
from aqmlab.results.notes import notes
from aqmlab.results.numbers import frame
from aqmlab.results.sequential import StopReason
from aqmlab.results.table import ComparisonTables
from aqmlab.running.checks import Check, check, failures
from aqmlab.spec import presets
from aqmlab.store.result import Result, pooled_cdf
from aqmlab.ui import console


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of all cells by scheme, beginning with the uncongested network if it is included.

    Raises
    ------
    SpecError
        When a live run is invalid, or the cells belong to different experiments.
    """

    results: tuple[Result, ...]
    paired: bool = False
    """Compare each further scheme with the first one seed by seed."""
    stop: StopReason | None = None
    """The result of the stopping rule, if there is one."""

    def __post_init__(self) -> None:
        for result in self.results:
            if not result.valid:
                raise SpecError(f"results: an invalid live run is in no mean, got {result.cell}")
        check_one_experiment(result.cell for result in self.results)

    @property
    def cells(self) -> list[dict[str, Any]]:
        """One record for each scheme and seed."""
        return [result.record() for result in self.results]

    @property
    def schemes(self) -> list[dict[str, Any]]:
        """One record for each scheme: means over its seeds.

        ``half_width`` has half of the width of the 95 % interval of each mean (Student's t), under the same names.
        ``sd`` has the standard deviation over the seeds. Both are ``None`` for one seed.

        In a paired comparison, each scheme after the first has ``paired``. Its ``to`` is the first scheme's label, and
        its ``difference`` the mean over the seeds of the difference from that scheme. ``low`` and ``high`` bound the
        interval, and ``p`` is the corrected p value. The intervals of one number hold together with 95 % for all
        schemes and, with ``until``, at all looks: each alone has the ``confidence``. A difference is significant if its
        interval excludes 0.
        """
        records = {label: [result.record() for result in results] for label, results in self._by_label.items()}
        schemes = [stats.over_seeds(scheme_records) for scheme_records in records.values()]
        if self.paired:
            others = [scheme for scheme in schemes if scheme["label"] not in (BASELINE, self.first)]
            paired_differences = stats.paired(
                records[self.first], [records[scheme["label"]] for scheme in others], looks=self._looks
            )
            for scheme, differences in zip(others, paired_differences, strict=True):
                scheme["paired"] = {"to": self.first} | differences
        return schemes

    def response_times(self) -> dict[str, pl.DataFrame]:
        """Return each scheme's distribution of response times, all seeds together.

        Returns
        -------
        dict
            By label, frames of ``time_ms`` and ``fraction``, the share of requests answered within that time. With
            several seeds, ``low`` and ``high`` bound its 95 % interval (Student's t) over the seeds, for each time
            separately.
        """
        return {
            label: stats.share_intervals(pooled_cdf(results), [result.response_time_bins for result in results])
            for label, results in self._by_label.items()
        }

    def response_time_differences(self) -> dict[str, pl.DataFrame]:
        """Return the differences of further schemes' distributions of response times from the first's, with bands.

        The frames are those of :func:`aqmlab.stats.difference_band`; none without ``paired``.
        """
        if not self.paired:
            return {}
        histograms = {
            label: [result.response_time_bins for result in results] for label, results in self._by_label.items()
        }
        first = histograms[self.first]
        others = [label for label in histograms if label not in (BASELINE, self.first)]
        confidence = 1 - stats.LEVEL / self._looks
        return {label: stats.difference_band(first, histograms[label], confidence=confidence) for label in others}

    def slowdowns(self) -> dict[str, pl.DataFrame]:
        """Return the slowdowns of each scheme's requests relative to the uncongested network, by response size.

        Returns
        -------
        dict
            By label, frames of :func:`aqmlab.results.measures.slowdown.by_size`: ``bytes``, ``requests``, and ``p50``,
            ``p90`` and ``p99`` of the slowdowns.

        Raises
        ------
        SpecError
            When the uncongested network or the table ``exchanges`` is missing.
        """
        check_cells(read_measures(["slowdown"]), [result.cell for result in self.results])
        baseline = self._by_label[BASELINE]
        return {
            label: slowdown.by_size(results, baseline) for label, results in self._by_label.items() if label != BASELINE
        }

    def queues(self, *, link: int = 1, direction: int) -> dict[str, pl.DataFrame]:
        """Return each scheme's queueing delay over time, of its first seed, downsampled with all extremes.

        Parameters
        ----------
        link
            The number of the link in a chain, from 1.
        direction
            The direction: 0 for traffic from side 0, 1 for traffic from side 1.

        Returns
        -------
        dict
            By label, frames of ``time_s``, and ``delay_ms_low``, ``delay_ms_mean`` and ``delay_ms_high`` of a period.
        """
        rows = {label: timeseries.downsample(results[0]) for label, results in self._by_label.items()}
        return {label: frame.filter(link=link, direction=direction) for label, frame in rows.items()}

    def delay_and_throughput(self, *, direction: int) -> dict[str, pl.DataFrame]:
        """Return each scheme's mean queueing delay and throughput in each second, all seeds together.

        Parameters
        ----------
        direction
            The direction: 0 for traffic from side 0, 1 for traffic from side 1.

        Returns
        -------
        dict
            By label, frames of ``delay_ms`` and ``throughput_mbps`` for :func:`aqmlab.plot.ellipse`.
        """
        return {
            label: pl.concat(
                timeseries.windows(result, direction).select("delay_ms", "throughput_mbps") for result in results
            )
            for label, results in self._by_label.items()
        }

    def intervals(self, measure: str) -> dict[str, pl.DataFrame]:
        """Return each scheme's mean of a number over its seeds, with its 95 % interval.

        Parameters
        ----------
        measure
            The name of a number, as for :meth:`frame`.

        Returns
        -------
        dict
            By label, frames of one row: ``mean``, and the interval from ``low`` to ``high``, null for one seed. Without
            a value there is no row.

        Raises
        ------
        SpecError
            When there is no such number; the message lists those there are.
        """
        rows = frame.means_frame(self._by_label, [self.parts.find(measure, "measure")])
        return {label: rows.filter(scheme=label).select("mean", "low", "high") for label in self._by_label}

    def frame(self, *measures: str, sd: bool = False) -> pl.DataFrame:
        """Return numbers of all schemes as a long frame.

        Parameters
        ----------
        *measures
            Names of numbers: ``"loss"``, ``"p95"``, ``"delay p99 reverse"``, ``"game one-way p99"``, or a path in a
            record such as ``"response_time_ms.p90"``; see docs/guide/results.md. The default is all named numbers.
        sd
            Add a column with the standard deviation over the seeds, ``sd``.

        Returns
        -------
        polars.DataFrame
            ``scheme``, ``measure`` and its ``unit``; the ``mean`` over the ``n`` seeds that have a value; its 95 %
            interval (Student's t) from ``low`` to ``high``, limited to the possible values, and its ``half_width``;
            null for one seed. A number that no seed of a scheme has is left out. In a paired comparison ``less`` is the
            scheme whose value is subtracted from that of ``scheme``, null for plain means.

        Raises
        ------
        SpecError
            When there is no such number; the message lists those there are.

        Examples
        --------
        >>> comparison = compare("droptail", "fq_codel", seeds=[1, 2, 3])  # doctest: +SKIP
        >>> comparison.frame("p95", "delay p99").write_csv("delays.csv")  # doctest: +SKIP
        """
        numbers = [self.parts.find(measure, "measure") for measure in measures] or list(self.parts.numbers.values())
        rows = frame.means_frame(self._by_label, numbers)
        if self.paired:
            schemes = {label: results for label, results in self._by_label.items() if label != BASELINE}
            differences = frame.differences_frame(schemes, numbers, self.first, looks=self._looks)
            rows = pl.concat([rows, differences])
        unused = [*(() if self.paired else ["less"]), *(() if sd else ["sd"])]
        return rows.drop(unused)

    @cached_property
    def parts(self) -> Parts:
        """The parts of the traffic that have numbers of their own, and the names of all numbers."""
        return Parts.from_cells(result.cell for result in self.results)

    @property
    def first(self) -> str:
        """The label of the first scheme, with which further ones are compared; never the uncongested network."""
        return next(label for label in self._by_label if label != BASELINE)

    def measured(self, *names: str) -> dict[str, list[MeasuredRow]]:
        """Compute measures on request, see docs/guide/results.md.

        Parameters
        ----------
        *names
            One or more of ``slowdown``, ``page``, ``rpm``, ``outcome``, ``jain``, ``harm`` and ``step``. For ``harm``
            each scheme is also run with each kind of traffic alone; the store keeps these runs.

        Returns
        -------
        dict
            By measure, rows with the scheme's ``label``, the object ``of`` the measure, and its numbers, means over the
            seeds; ``half_width`` has half of their 95 % intervals by the same names, ``None`` for one seed.

        Raises
        ------
        SpecError
            When there is no such measure, or the comparison lacks its data.
        """
        return measured(names, self.results)

    @property
    def notes(self) -> list[str]:
        """Sentences about the comparison: failed checks, notes, a missing baseline, the stopping rule."""
        remarks = [str(note) for note in (self._baseline_note, self.stop) if note is not None]
        return [*failures(self.checks), *notes(self.results), *remarks]

    @cached_property
    def checks(self) -> list[Check]:
        """The checks of each cell's numbers, see :func:`aqmlab.running.checks.check`."""
        return check(self.results)

    @property
    def _looks(self) -> int:
        return 1 if self.stop is None else len(stats.LOOKS)

    @property
    def _baseline_note(self) -> str | None:
        if BASELINE in self._by_label or not self.results:
            return None
        greedy = presets.greedy(self.results[0].cell.resolved.get("sources", ()))
        if not greedy:
            return None
        verb = "takes" if len(greedy) == 1 else "take"
        return f"Without a baseline: {', '.join(greedy)} {verb} any capacity, so that no network is uncongested."

    @cached_property
    def _by_label(self) -> dict[str, list[Result]]:
        return {label: list(results) for label, results in groupby(self.results, key=lambda result: result.cell.label)}

    @property
    def tables(self) -> ComparisonTables:
        """The comparison as tables for a console."""
        return ComparisonTables(self.schemes, self.notes, samples=self._samples, looks=self._looks)

    @property
    def _samples(self) -> Mapping[str, Mapping[str, Any]]:
        """The records of the values of all seeds, by label; none unless all schemes have the same seeds."""
        cells = {label: results for label, results in self._by_label.items() if label != BASELINE}
        if len({tuple(result.cell.seed for result in results) for results in cells.values()}) != 1:
            return {}
        return {label: stats.samples([result.record() for result in results]) for label, results in cells.items()}

    def __repr__(self) -> str:
        return console.render_text(self.tables)

    def _repr_html_(self) -> str:
        return notebook.comparison(self.schemes, self.notes)
