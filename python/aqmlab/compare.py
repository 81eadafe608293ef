"""Schemes side by side under the same users, with the uncongested network for scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab import presets, schemes, stats, table
from aqmlab.calibration import Calibrations, known
from aqmlab.cell import Cell, make_cell, populate
from aqmlab.pcap import Pcap, one_a_cell
from aqmlab.result import Result
from aqmlab.spec import Experiment
from aqmlab.store import Store
from aqmlab.sweep import sweep

BASELINE = "uncongested"
"""The label of the cells on the uncongested network."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of all cells, scheme by scheme, the uncongested network first."""

    results: tuple[Result, ...]

    @property
    def cells(self) -> list[dict[str, Any]]:
        """One record for each scheme and seed."""
        return [result.record() for result in self.results]

    @property
    def schemes(self) -> list[dict[str, Any]]:
        """One record for each scheme: means over its seeds, with standard deviations under ``sd``."""
        return [stats.over_seeds([result.record() for result in results]) for results in self._by_label.values()]

    def response_times(self) -> dict[str, pl.DataFrame]:
        """Return each scheme's distribution of response times, all seeds together."""
        return {label: stats.pooled_cdf(results) for label, results in self._by_label.items()}

    @cached_property
    def _by_label(self) -> dict[str, list[Result]]:
        return {label: list(results) for label, results in groupby(self.results, key=lambda result: result.cell.label)}

    def __repr__(self) -> str:
        return table.plain(table.comparison(self.schemes))


def compare(
    *scheme_texts: str,
    experiment: Experiment | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    out: Path | str = "results",
    workers: int | None = None,
    pcap: Pcap | None = None,
) -> Comparison:
    """Run schemes and the uncongested network under the same users.

    Parameters
    ----------
    *scheme_texts
        The schemes as on the command line: ``"pi:q_ref=24,ecn=true"``, or ``"my_module:MyLaw"`` for a law of your own.
    experiment
        All but the scheme: users, hosts, link, protocol. The default is 98 % load as in Le et al. (2003).
    seeds
        One cell for each scheme and seed. With one seed the users are the same under every scheme.
    out
        The results directory; cells it has are not run again.
    workers
        Cells run at a time; by default as many as there are cores.
    pcap
        A packet capture to be made of each cell, in a file whose name is this one's with scheme and seed.

    Raises
    ------
    SpecError
        When a scheme or the experiment asks for something impossible.

    Examples
    --------
    >>> compare("droptail:limit=240", "pi:q_ref=24,ecn=true", seeds=[1])  # doctest: +SKIP
    """
    cells = comparison_cells(scheme_texts, experiment or Experiment(), seeds, known(Path(out)))
    pcaps = one_a_cell(pcap, cells) if pcap is not None else {}
    return Comparison(tuple(sweep(cells, Store(out), workers=workers, pcaps=pcaps)))


def comparison_cells(
    scheme_texts: Iterable[str],
    experiment: Experiment,
    seeds: Iterable[int],
    calibrations: Calibrations,
) -> list[Cell]:
    """Return the cells of a comparison, the uncongested network first."""
    populated, load = populate(experiment, calibrations)
    seeds = list(seeds)
    cells = [
        make_cell(presets.uncongested(populated), seed=seed, load_percent=load, label=BASELINE, uncongested=True)
        for seed in seeds
    ]
    for text in dict.fromkeys(scheme_texts):
        scheme = schemes.parse(text)
        variant = scheme.applied_to(populated)
        cells += [make_cell(variant, seed=seed, load_percent=load, label=text) for seed in seeds]
    return cells
