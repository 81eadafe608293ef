"""Advice for one link: the map's ranking on similar links, a run on the link itself, and commands."""

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
from aqmlab.advice import table
from aqmlab.advice.access_link import CONSTANT, AccessLink
from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.advice.ranking import Ranking, rank
from aqmlab.advice.survey import KIND_LINKS, KINDS, MEASURES, NEIGHBOURS, Survey, load_survey, measure_values
from aqmlab.cells.cell import cells_of
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts
from aqmlab.results.compare import compare
from aqmlab.results.notes import SHORT_STEP, short_steps
from aqmlab.running import checks
from aqmlab.running.validation import check_out, check_seeds, check_workers
from aqmlab.stats.intervals import Values
from aqmlab.store.result import Result
from aqmlab.tc import commands as tc
from aqmlab.tc.commands import Commands
from aqmlab.ui import console

MINIMISED = tuple(name for name in MEASURES if name not in ("loss", "bulk"))
"""The measures for a ranking by the map. Loss may be 0, which has no ratio; goodput has its own column."""

_TIME_MEASURES = "ms"
"""The unit of measures that may be minimised: a time above 0 has a ratio, and less of it is better."""

_CONFIRMATION_RUNS = 3
"""The number of the map's best candidates that are run on the link itself, besides the plain queue."""

_REQUESTS = 500
_REQUESTS_PER_USER_S = 0.16
_MIN_S, _MAX_S = 30.0, 300.0
"""The bounds of a run's measurement window, which is otherwise long enough for about :data:`_REQUESTS` requests. A user
makes :data:`_REQUESTS_PER_USER_S` requests a second on an idle link, by this engine. All are ours."""

_LITTLE_PERCENT = 25.0
"""A plain queue that is surely less than this behind the best is nearly as good. Ours."""

UNTESTED = (
    "senders other than CUBIC, such as BBR and those of L4S, and mixes of them",
    "calls and other UDP besides the web, the transfers and games",
    "fairness between hosts, as in CAKE",
)
"""The conditions that neither the map nor the run covers."""


@dataclass(frozen=True, repr=False)
class Advice:
    """The advice for a link, and its reasons."""

    link: AccessLink
    minimised: Number
    map: tuple[Ranking, ...]
    """The candidates on similar links of the map, the best first; none if the map lacks the number."""
    run: tuple[Ranking, ...]
    """The candidates that were run on the link itself, the best first."""
    seeds: tuple[int, ...]
    results: tuple[Result, ...]
    """The run's results, by candidate and seed."""
    provenance: Mapping[str, Any]
    """The provenance of the map's links of this kind; empty if it has none."""
    gap: str = ""
    """The part of the map that is missing, so that all candidates were run."""

    @cached_property
    def best_candidate(self) -> str:
        """The advised candidate: the map's first, unless another one is significantly better in the run on the link."""
        if not self.map:
            return self.run[0].candidate
        rankings = {ranking.candidate: ranking for ranking in self.run}
        first = next(ranking.candidate for ranking in self.map if ranking.candidate in rankings)
        return first if rankings[first].is_indistinguishable else self.run[0].candidate

    @property
    def scheme(self) -> str:
        """The advised scheme, as typed after ``aqmlab compare``."""
        return CANDIDATES[self.best_candidate](self.link)

    @cached_property
    def commands(self) -> Commands:
        """The advised scheme as commands of Linux's ``tc``."""
        return tc.commands(next(result.cell for result in self.results if result.cell.label == self.scheme))

    @property
    def notes(self) -> list[str]:
        """Sentences about the limits of the advice."""
        plain = next(ranking for ranking in self.run if ranking.candidate == PLAIN)
        sentences = list(checks.failures(checks.check(self.results)))
        advised = (result.cell for result in self.results if result.cell.label == self.scheme)
        sentences += [
            f"{SHORT_STEP}: {step}." for cell in advised if cell.seed == self.seeds[0] for step in short_steps(cell)
        ]
        if plain.is_indistinguishable:
            behind = 0.0 if plain.change_from_best is None else plain.change_from_best.high
            gain = "there is little to gain" if behind < _LITTLE_PERCENT else "more seeds can tell"
            sentences.append(
                f"On this link a plain queue is not distinguishable from the best, under {len(self.seeds)} seeds:"
                f" {gain}."
            )
        if not self.map:
            sentences.append(f"{self.gap}: all candidates were run on this link instead.")
            return [*sentences, self._untested]
        if (preset := KINDS.get(self.link.kind or "")) is not None:
            sentences.append(
                f"The map's links of kind {self.link.kind} are the preset {preset!r} at rates from a fifth to twice its"
                " own, without ECN."
            )
        map_change, run_change = (
            next(ranking for ranking in group if ranking.candidate == self.best_candidate).change
            for group in (self.map, self.run)
        )
        if run_change.low > map_change.high or run_change.high < map_change.low:
            sentences.append(
                "The run is far from the map, which has few links that are similar in what matters. The run counts."
            )
        if self.provenance["results"] != results_number():
            map_results = self.provenance["results"]
            sentences.append(
                f"The map has the results number {map_results}, this engine {results_number()}: the run counts."
            )
        return [*sentences, self._untested]

    @property
    def _untested(self) -> str:
        """The conditions that neither the map nor the run covers, as a sentence."""
        varying = "links of varying or bursty rate, such as wireless links: describe yours with link"
        seeds = f"other draws of this link than those of {len(self.seeds)} seeds"
        return f"Not tried: {'; '.join((varying if self.link.link is None else seeds, *UNTESTED))}."

    def record(self) -> dict[str, Any]:
        """Return the advice as one object, for ``--json``."""
        return {
            "link": {key: value for key, value in asdict(self.link).items() if value is not None},
            "minimised": self.minimised.name,
            "unit": self.minimised.unit,
            "advised": self.best_candidate,
            "scheme": self.scheme,
            "map": [ranking.record() | {"scheme": CANDIDATES[ranking.candidate](self.link)} for ranking in self.map],
            "run": [ranking.record() | {"scheme": CANDIDATES[ranking.candidate](self.link)} for ranking in self.run],
            "seeds": list(self.seeds),
            "tc": self.commands.record(),
            "notes": self.notes,
            "made_by": dict(self.provenance),
        }

    def frame(self) -> pl.DataFrame:
        """Return a row for each candidate that was run on the link, then for each on the map's links.

        Returns
        -------
        polars.DataFrame
            ``where`` (``link`` or ``map``), ``scheme``, ``measure`` and its ``unit``, its geometric ``mean``;
            ``alike``, true for the best and those not distinguishable from it; and in percent, each with its bounds as
            ``_low`` and ``_high``, the change from the plain queue, the change from the best (``behind``), and the
            change of the goodput of long transfers, ``bulk``.
        """
        measure = {"measure": self.minimised.name, "unit": self.minimised.unit}
        rows = [
            {"where": where, "scheme": CANDIDATES[ranking.candidate](self.link), **measure, **ranking.flat()}
            for where, group in (("link", self.run), ("map", self.map))
            for ranking in group
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def summary_text(self) -> str:
        """The link and the advice in sentences."""
        indistinguishable = [
            ranking.candidate
            for ranking in self.run
            if ranking.is_indistinguishable and ranking.candidate != self.best_candidate
        ]
        others = (
            f"; not distinguishable from it on this link: {', '.join(indistinguishable)}" if indistinguishable else ""
        )
        return (
            f"{self.link}\n\nAdvised: {self.scheme}{others}\n"
            f"The advice minimises {self.minimised.name}; a column shows long transfers. Changes are from a plain"
            f" queue, {CANDIDATES[PLAIN](self.link)}. The 95 % intervals of a column hold together.\n"
        )

    @property
    def tables(self) -> list[Table]:
        """The rankings on this link, and on similar links of the map."""
        run_title = (
            f"On this link, under seeds {self.seeds[0]} to {self.seeds[-1]}. * not distinguishable from the best"
        )
        is_constant = self.link.kind == CONSTANT
        links = f"{NEIGHBOURS} similar links" if is_constant else f"{KIND_LINKS} links of kind {self.link.kind}"
        map_title = f"On {links} of the map. * not distinguishable from the best"
        groups = [(run_title, self.run), (map_title, self.map)]
        return [table.ranking_table(title, self.link, self.minimised, group) for title, group in groups if group]

    def __repr__(self) -> str:
        return "\n".join((self.summary_text, *map(console.render_text, self.tables), str(self.commands), *self.notes))


def advise(
    link: AccessLink,
    *,
    minimise: str = "p95",
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    out: Path | str = "results",
    workers: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Advise on the queue discipline for an access link, with its settings.

    The package has a map: a dozen candidates on many links, under the same users. They are ranked on the links that are
    similar to this one. The best three and a plain queue are then run on this link itself. If the map lacks a described
    link, all candidates are run on it.

    Parameters
    ----------
    link
        The link with its users.
    minimise
        The measure to minimise: ``mean``, ``p50``, ``p90``, ``p95`` or ``p99`` of the web users' response times in ms,
        or ``delay`` and ``delay p99`` of the queues. A column shows the effect on long transfers. The map lacks other
        times, such as ``"game up one-way p99"``: for these all candidates are run on the link.
    seeds
        The seeds of the run, which has other users than the map.
    out
        The results directory; stored cells are not run again.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When a link of two rates is outside of the map, or an argument is invalid.

    Examples
    --------
    >>> advise(AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms")).scheme  # doctest: +SKIP
    >>> advise(AccessLink(link="starlink", rtt="20 ms")).scheme  # doctest: +SKIP
    """
    minimised = _minimized(minimise, link)
    check_workers(workers)
    check_out(out)
    chosen_seeds = tuple(check_seeds(seeds))
    if len(chosen_seeds) < 2:
        raise SpecError(f"seeds: must be two at least, for an interval, got {len(chosen_seeds)}")
    survey = load_survey()
    by_map, gap = _by_map(survey, link, minimised.name)
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
            {"link": result.cell.seed, "candidate": names[result.cell.label], **_measured(result.summary, minimised)}
            for result in compared.results
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
        provenance=survey.provenance.get(link.kind or "", {}),
        gap=gap,
    )


def rankings(survey: Survey, link: AccessLink, minimise: str, neighbours: int = NEIGHBOURS) -> tuple[Ranking, ...]:
    """Rank the candidates on the ``neighbours`` links of a map that are most similar to a link."""
    return _ranked(survey.nearest_links(link, neighbours), minimise)


def _by_map(survey: Survey, link: AccessLink, minimise: str) -> tuple[tuple[Ranking, ...], str]:
    """Return the map's ranking, or the part of the map that is missing: a measure, or links like this one."""
    if minimise not in MINIMISED:
        return (), f"The map lacks {minimise}"
    try:
        return rankings(survey, link, minimise), ""
    except SpecError as error:
        if link.link is None:
            raise
        reason = str(error).removeprefix("link: ")
        return (), reason[0].upper() + reason[1:]


def _ranked(rows: pl.DataFrame, minimise: str) -> tuple[Ranking, ...]:
    """Rank candidates by rows with a ``link``, which may be a seed, and a ``candidate``."""
    values = _columns(rows, minimise)
    if not values:
        raise SpecError(f"minimise: {minimise} has no value, because no requests were completed")
    return tuple(rank(values, _columns(rows, "bulk"), plain=PLAIN))


def _columns(rows: pl.DataFrame, measure: str) -> dict[str, Values]:
    """Return a measure by candidate, for the links with a positive value.

    A candidate without completed requests counts like the slowest of the others.
    """
    wide = rows.pivot("candidate", index="link", values=measure).drop("link")
    wide = wide.with_columns(pl.all().fill_null(pl.max_horizontal(pl.all())))
    wide = wide.filter(pl.all_horizontal(pl.all() > 0))
    return {name: wide[name].to_numpy().astype(np.float64) for name in wide.columns} if wide.height else {}


def _candidates(map_rankings: Sequence[Ranking], link: AccessLink) -> dict[str, str]:
    """Return the plain queue and the map's best candidates by their schemes, without duplicate schemes.

    Without the map it returns all candidates.
    """
    names = {CANDIDATES[PLAIN](link): PLAIN}
    for candidate in [ranking.candidate for ranking in map_rankings] or CANDIDATES:
        names.setdefault(CANDIDATES[candidate](link), candidate)
    return dict(list(names.items())[: 1 + _CONFIRMATION_RUNS if map_rankings else None])


def _minimized(name: str, link: AccessLink) -> Number:
    spec = link.experiment(**_window(link))
    parts = Parts.from_cells(cells_of(spec, [1]))
    number = parts.find(name, "minimise")
    if number.unit != _TIME_MEASURES:
        raise SpecError(f"minimise: must be a time, such as {', '.join(MINIMISED)}, got {name!r} in {number.unit}")
    return number


def _measured(summary: Mapping[str, Any], number: Number) -> dict[str, float | None]:
    return {**measure_values(summary), number.name: number.read(summary)}


def _window(link: AccessLink) -> dict[str, float]:
    duration_s = round(min(max(_REQUESTS / (_REQUESTS_PER_USER_S * link.users), _MIN_S), _MAX_S))
    return {"warmup_s": max(10, duration_s // 4), "duration_s": duration_s}
