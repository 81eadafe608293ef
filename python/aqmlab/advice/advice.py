"""Advice for one link: what the map says of links like it, a run on the link itself, and the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.table import Table

from aqmlab._core import SpecError, results_number
from aqmlab.advice import table, tc
from aqmlab.advice.access_link import AccessLink
from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.advice.ranking import Ranking, rank
from aqmlab.advice.survey import MEASURES, NEAR, Map, measured, shipped
from aqmlab.cells.cell import cells_of
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts
from aqmlab.results.compare import compare
from aqmlab.running import checks
from aqmlab.running.validation import check_out, check_seeds, check_workers
from aqmlab.stats.intervals import Values
from aqmlab.store.result import Result
from aqmlab.ui import console

MINIMISED = tuple(name for name in MEASURES if name not in ("loss", "bulk"))
"""The measures that the map can be ranked by. Loss may be 0, which has no ratio; goodput is shown in a column."""

_TIME_MEASURES = "ms"
"""The unit of all that may be minimised: a time above 0 has a ratio, and less of it is better."""

_CONFIRMATION_RUNS = 3
"""So many of the map's first are run on the link itself, beside the plain queue."""

_REQUESTS = 500
_A_USER_S = 0.16
_LEAST_S, _MOST_S = 30.0, 300.0
"""A run is measured for as long as about so many requests take, within bounds; both are ours. A user makes so many a
second on an empty link, by this engine."""

NOT_TRIED = (
    "links whose rate varies or comes in bursts, as over the air",
    "senders other than CUBIC, such as BBR and those of L4S, and mixes of them",
    "calls and other UDP beside the web, the transfers and games",
    "hosts told apart, as CAKE does",
)
"""What neither the map nor the run is about."""


@dataclass(frozen=True, repr=False)
class Advice:
    """What is advised for a link, and why."""

    link: AccessLink
    minimised: Number
    map: tuple[Ranking, ...]
    """The candidates on the links of the map that are like it, the best first; none where the map lacks the number."""
    run: tuple[Ranking, ...]
    """Those that were run on the link itself, the best first."""
    seeds: tuple[int, ...]
    results: tuple[Result, ...]
    """The run's results, by candidate and seed."""
    made_by: Mapping[str, Any]
    """What made the map."""

    @cached_property
    def advised(self) -> str:
        """The candidate: the map's first, unless the run on the link itself tells another one from it as better."""
        if not self.map:
            return self.run[0].candidate
        rankings = {each.candidate: each for each in self.run}
        first = next(each.candidate for each in self.map if each.candidate in rankings)
        return first if rankings[first].is_indistinguishable else self.run[0].candidate

    @property
    def scheme(self) -> str:
        """The advised scheme, as it is typed after ``aqmlab compare``."""
        return CANDIDATES[self.advised](self.link)

    @cached_property
    def commands(self) -> tc.Commands:
        """The advised scheme as commands of Linux's ``tc``."""
        return tc.commands(next(each.cell for each in self.results if each.cell.label == self.scheme))

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, in sentences."""
        plain = next(each for each in self.run if each.candidate == PLAIN)
        said = list(checks.failures(checks.check(self.results)))
        if plain.is_indistinguishable:
            said.append("On this link a plain queue is not distinguishable from the best: there is little to gain.")
        if not self.map:
            said.append(f"The map does not have {self.minimised.name}: all candidates were run on this link instead.")
            return [*said, f"Not tried: {'; '.join(NOT_TRIED)}."]
        there, here = (
            next(each for each in of if each.candidate == self.advised).change for of in (self.map, self.run)
        )
        if here.low > there.high or here.high < there.low:
            said.append(
                "The run is far from the map: few of its links are like this one in what matters. The run counts."
            )
        if self.made_by["results"] != results_number():
            made = self.made_by["results"]
            said.append(f"The map is of results {made}, this engine's are {results_number()}: the run counts.")
        return [*said, f"Not tried: {'; '.join(NOT_TRIED)}."]

    def record(self) -> dict[str, Any]:
        """Return it as one object, for ``--json``."""
        return {
            "link": asdict(self.link),
            "minimised": self.minimised.name,
            "unit": self.minimised.unit,
            "advised": self.advised,
            "scheme": self.scheme,
            "map": [each.record() | {"scheme": CANDIDATES[each.candidate](self.link)} for each in self.map],
            "run": [each.record() | {"scheme": CANDIDATES[each.candidate](self.link)} for each in self.run],
            "seeds": list(self.seeds),
            "tc": {"lines": list(self.commands.lines), "notes": list(self.commands.notes)},
            "notes": self.notes,
            "made_by": dict(self.made_by),
        }

    def frame(self) -> pl.DataFrame:
        """Return a row for each candidate that was run on the link, then for each on the map's links.

        Returns
        -------
        polars.DataFrame
            ``where`` (``link`` or ``map``), ``scheme``, ``measure`` and its ``unit``, its geometric ``mean``; whether
            it is the best or not distinguishable from it, ``alike``; and in percent, each with its bounds as ``_low``
            and ``_high``, the change from the plain queue, how far it is ``behind`` the best, and the change of the
            goodput of long transfers, ``bulk``.
        """
        measure = {"measure": self.minimised.name, "unit": self.minimised.unit}
        rows = [
            {"where": where, "scheme": CANDIDATES[each.candidate](self.link), **measure, **each.flat()}
            for where, ranked in (("link", self.run), ("map", self.map))
            for each in ranked
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def asked(self) -> str:
        """What was asked, and what is advised, in sentences."""
        alike = [each.candidate for each in self.run if each.is_indistinguishable and each.candidate != self.advised]
        others = f"; not distinguishable from it on this link: {', '.join(alike)}" if alike else ""
        return (
            f"{self.link}\n\nAdvised: {self.scheme}{others}\n"
            f"Minimised is {self.minimised.name}; long transfers are shown beside. Changes are from a plain queue,"
            f" {CANDIDATES[PLAIN](self.link)}. The 95 % intervals of a column hold together.\n"
        )

    @property
    def sheets(self) -> list[Table]:
        """What was run on this link, and what the map knows of links like it."""
        here = f"On this link, under seeds {self.seeds[0]} to {self.seeds[-1]}. * not distinguishable from the best"
        there = f"On {NEAR} links of the map that are like it. * not distinguishable from the best"
        shown = [(here, self.run), (there, self.map)]
        return [table.ranking_table(title, self.link, self.minimised, ranked) for title, ranked in shown if ranked]

    def __repr__(self) -> str:
        return "\n".join((self.asked, *map(console.plain, self.sheets), str(self.commands), *self.notes))


def advise(
    link: AccessLink,
    *,
    minimise: str = "p95",
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    out: Path | str = "results",
    workers: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Say which queue discipline serves an access link best, with which settings.

    The package has a map: a dozen candidates on links of many kinds, under the same users. They are ranked on the links
    that are like this one. The first three and a plain queue are then run on this very link.

    Parameters
    ----------
    link
        The link, and who uses it.
    minimise
        What is to be small: ``mean``, ``p50``, ``p90``, ``p95`` or ``p99`` of the response times of those who browse,
        in ms, or ``delay`` and ``delay p99`` in the queues. What it costs long transfers is shown beside. Of another
        time, such as ``"game up one-way p99"``, the map knows nothing: all candidates are run on the link.
    seeds
        The users that the run has. The map's are others.
    out
        The results directory; cells it has are not run again.
    workers
        Cells run at a time; by default as many as this process may use processors.
    progress
        Whether it is told on standard error how far the run is; by default at a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the link is outside of the map, or something asked for is impossible.

    Examples
    --------
    >>> advise(AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms")).scheme  # doctest: +SKIP
    """
    minimised = _minimized(minimise, link)
    check_workers(workers)
    check_out(out)
    chosen_seeds = tuple(check_seeds(seeds))
    if len(chosen_seeds) < 2:
        raise SpecError(f"seeds: must be two at least, for an interval, got {len(chosen_seeds)}")
    known = shipped()
    by_map = rankings(known, link, minimised.name) if minimised.name in MINIMISED else ()
    names = _candidates(by_map, link)
    compared = compare(
        *names,
        experiment=link.experiment(**_window(link)),
        seeds=chosen_seeds,
        baseline=False,
        out=out,
        workers=workers,
        progress=progress,
    )
    rows = pl.DataFrame(
        [
            {"link": each.cell.seed, "candidate": names[each.cell.label], **_measured(each.summary, minimised)}
            for each in compared.results
        ],
        infer_schema_length=None,
    )
    return Advice(
        link=link,
        minimised=minimised,
        map=by_map,
        run=_ranked(rows, minimised.name),
        seeds=chosen_seeds,
        results=compared.results,
        made_by=known.provenance,
    )


def rankings(known: Map, link: AccessLink, minimise: str, near: int = NEAR) -> tuple[Ranking, ...]:
    """Rank the candidates on so many links of a map that are like one."""
    return _ranked(known.near(link, near), minimise)


def _ranked(rows: pl.DataFrame, minimise: str) -> tuple[Ranking, ...]:
    """Rank candidates by rows of a ``link``, which may be a seed, and a ``candidate``."""
    values = _columns(rows, minimise)
    if not values:
        raise SpecError(f"minimise: there is nothing to measure of {minimise}, for lack of requests")
    return tuple(rank(values, _columns(rows, "bulk"), plain=PLAIN))


def _columns(rows: pl.DataFrame, measure: str) -> dict[str, Values]:
    """Return a measure by candidate, for the links where there is something to measure.

    A candidate under which nobody was answered, where others had answers, counts as the slowest of those.
    """
    wide = rows.pivot("candidate", index="link", values=measure).drop("link")
    wide = wide.with_columns(pl.all().fill_null(pl.max_horizontal(pl.all())))
    wide = wide.filter(pl.all_horizontal(pl.all() > 0))
    return {name: wide[name].to_numpy().astype(np.float64) for name in wide.columns} if wide.height else {}


def _candidates(by_map: Sequence[Ranking], link: AccessLink) -> dict[str, str]:
    """Return the plain queue and the map's first by their schemes, each once: a rule may give the defaults.

    Without the map they are all.
    """
    names = {CANDIDATES[PLAIN](link): PLAIN}
    for candidate in [each.candidate for each in by_map] or CANDIDATES:
        names.setdefault(CANDIDATES[candidate](link), candidate)
    return dict(list(names.items())[: 1 + _CONFIRMATION_RUNS if by_map else None])


def _minimized(name: str, link: AccessLink) -> Number:
    spec = link.experiment(**_window(link))
    parts = Parts.of_cells(cells_of(spec, [1]))
    number = parts.find(name, "minimise")
    if number.unit != _TIME_MEASURES:
        raise SpecError(f"minimise: must be a time, such as {', '.join(MINIMISED)}, got {name!r} in {number.unit}")
    return number


def _measured(summary: Mapping[str, Any], number: Number) -> dict[str, float | None]:
    return {**measured(summary), number.name: number.read(summary)}


def _window(link: AccessLink) -> dict[str, float]:
    duration_s = round(min(max(_REQUESTS / (_A_USER_S * link.users), _LEAST_S), _MOST_S))
    return {"warmup_s": max(10, duration_s // 4), "duration_s": duration_s}
