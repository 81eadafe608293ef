"""Schemes side by side under the same users, with the uncongested network for scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.disciplines.custom.law import Law
from aqmlab.results import notebook, stats
from aqmlab.results.result import Result
from aqmlab.results.table import SideBySide
from aqmlab.running.arguments import check_experiment, check_out, check_schemes, check_seeds, check_workers
from aqmlab.running.calibration.lines import Calibrations, known
from aqmlab.running.cell import Cell, cells_of
from aqmlab.running.pcap import Pcap, one_a_cell
from aqmlab.running.progress import SweepProgress, is_seen
from aqmlab.running.store import Store
from aqmlab.running.sweep import sweep
from aqmlab.show import console
from aqmlab.spec import presets, schemes
from aqmlab.spec.experiment import Experiment

BASELINE = "uncongested"
"""The label of the cells on the uncongested network."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of all cells, scheme by scheme, the uncongested network first where it is among them."""

    results: tuple[Result, ...]
    paired: bool = False
    """Whether each further scheme is compared with the first one seed by seed."""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """One record for each scheme and seed."""
        return [result.record() for result in self.results]

    @property
    def schemes(self) -> list[dict[str, Any]]:
        """One record for each scheme: means over its seeds, with standard deviations under ``sd``.

        Where pairs are asked for, a scheme after the first has ``paired``: the first scheme's label, ``to``, and the
        mean over the seeds of its ``difference`` from that scheme with the bounds of a 95 % interval, ``low`` and
        ``high``.
        """
        records = {label: [result.record() for result in results] for label, results in self._by_label.items()}
        schemes = [stats.over_seeds(each) for each in records.values()]
        if self.paired:
            first, *further = (label for label in records if label != BASELINE)
            for scheme in schemes:
                if scheme["label"] in further:
                    scheme["paired"] = {"to": first} | stats.paired(records[first], records[scheme["label"]])
        return schemes

    def response_times(self) -> dict[str, pl.DataFrame]:
        """Return each scheme's distribution of response times, all seeds together."""
        return {label: stats.pooled_cdf(results) for label, results in self._by_label.items()}

    @property
    def note(self) -> str | None:
        """Why there is no uncongested network among the schemes, where its traffic leaves none."""
        if BASELINE in self._by_label or not self.results:
            return None
        greedy = presets.greedy(self.results[0].cell.resolved.get("sources", ()))
        if not greedy:
            return None
        takes = "takes" if len(greedy) == 1 else "take"
        return (
            f"Without a baseline: {', '.join(greedy)} {takes} whatever capacity there is, so no network is uncongested."
        )

    @cached_property
    def _by_label(self) -> dict[str, list[Result]]:
        return {label: list(results) for label, results in groupby(self.results, key=lambda result: result.cell.label)}

    @property
    def tables(self) -> SideBySide:
        """All of it as tables for a console."""
        return SideBySide(self.schemes, self.note)

    def __repr__(self) -> str:
        return console.plain(self.tables)

    def _repr_html_(self) -> str:
        return notebook.comparison(self.schemes, self.note)


def compare(
    *scheme_texts: str | type[Law],
    experiment: Experiment | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    baseline: bool | None = None,
    paired: bool = False,
    out: Path | str = "results",
    workers: int | None = None,
    pcap: Pcap | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run schemes and the uncongested network under the same users.

    Parameters
    ----------
    *scheme_texts
        The schemes as on the command line: ``"pi:q_ref=24,ecn=true"``, or ``"my_module:MyLaw"`` for a custom law.
        In a notebook or a script a law may be given as its class, ``MyLaw``, and with parameters as
        ``"__main__:MyLaw:threshold=24"``.
    experiment
        All but the scheme: users, hosts, link, protocol. The default is 98 % load as in Le et al. (2003).
    seeds
        One cell for each scheme and seed, each seed once. With one seed the users are the same under every scheme.
    baseline
        Whether the same network with nothing in the way is run beside the schemes, see
        :func:`aqmlab.spec.presets.uncongested`. By default it is unless a source takes whatever capacity there is.
    paired
        Whether each further scheme is compared with the first one seed by seed: the mean difference of each measure
        with its 95 % interval (Student's t). It takes two seeds or more.
    out
        The results directory; cells it has are not run again.
    workers
        Cells run at a time; by default as many as this process may use processors.
    pcap
        A packet capture to be made of each cell, in a file whose name is this one's with scheme and seed.
    progress
        Whether it is told on standard error how far the cells are; by default at a terminal and in a notebook.

    Raises
    ------
    SpecError
        When a scheme or the experiment asks for something impossible.

    Examples
    --------
    >>> compare("droptail:limit=240", "pi:q_ref=24,ecn=true", seeds=[1])  # doctest: +SKIP
    >>> compare("droptail", "codel", seeds=range(1, 6), paired=True).schemes[2]["paired"]["low"]  # doctest: +SKIP
    """
    texts = check_schemes(scheme_texts)
    if experiment is None:
        experiment = Experiment()
    check_experiment(experiment)
    check_workers(workers)
    cells = comparison_cells(texts, experiment, seeds, known(check_out(out)), baseline=baseline, paired=paired)
    pcaps = one_a_cell(pcap, cells) if pcap is not None else {}
    store = Store(out)
    if progress if progress is not None else is_seen():
        with SweepProgress(cells, store, captured=pcaps) as watch:
            results = sweep(cells, store, workers=workers, watch=watch, pcaps=pcaps)
    else:
        results = sweep(cells, store, workers=workers, pcaps=pcaps)
    return Comparison(tuple(results), paired=paired)


def comparison_cells(
    scheme_texts: Iterable[str | type[Law]],
    experiment: Experiment,
    seeds: Iterable[int],
    calibrations: Calibrations,
    *,
    baseline: bool | None = None,
    paired: bool = False,
) -> list[Cell]:
    """Return the cells of a comparison, the uncongested network first; the parameters are those of :func:`compare`."""
    seeds = check_seeds(seeds)
    parsed = [schemes.parse(text) for text in dict.fromkeys(scheme_texts)]
    twice = [label for label, times in Counter(scheme.label for scheme in parsed).items() if times > 1]
    if twice:
        raise SpecError(f"schemes: must each have a name of their own, got {twice[0]} twice")
    if paired and (len(seeds) < 2 or len(parsed) < 2):
        raise SpecError(
            "paired: needs two seeds and two schemes at least,"
            f" got {_count(len(seeds), 'seed')} and {_count(len(parsed), 'scheme')}"
        )
    cells = [
        cell
        for scheme in parsed
        for cell in cells_of(scheme.applied_to(experiment), seeds, calibrations, label=scheme.label)
    ]
    if baseline is None:
        baseline = not presets.greedy(experiment.sources)
    if not baseline:
        return cells
    return cells_of(experiment, seeds, calibrations, label=BASELINE, uncongested=True) + cells


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
