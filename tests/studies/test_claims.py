"""Predicates of claims on synthetic curves and tables: each limit from both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixtures.results
from aqmlab.cells.cell import Cell
from aqmlab.results import curves
from aqmlab.store.result import Result
from aqmlab.studies import find
from aqmlab.studies.kit.claims.predicates import (
    CLOSE,
    BetterCurve,
    Greater,
    InRange,
    NoWorseCurve,
    Part,
    SameCurve,
    approximately,
)
from aqmlab.studies.kit.claims.quantities import AREA, Column, change_percent, count_greater, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.kit.findings import Outcome

Curve = Sequence[tuple[float, float]]
"""Times in ms and shares in percent, ascending; straight lines between them."""

STEEP: Curve = ((100, 0), (100.001, 50), (1000, 50), (1900, 100))

LOSS = Column(what="loss, %", measure=lambda result: float(result.summary["loss_percent"]), name="loss", digits=1)


SPEC = fixtures.results.resolved()


def written(directory: Path, curve: Curve, seed: int, loss: float) -> Result:
    times, shares = np.array(curve).T
    histogram = pl.DataFrame(
        {"time_low_ms": times[:-1], "time_high_ms": times[1:], "count": np.diff(shares * 10_000).round().astype(int)}
    )
    fixtures.results.write(
        directory, summary={"loss_percent": loss}, response_times=histogram.filter(pl.col("count") > 0)
    )
    cell = Cell(label="", signal="", load_percent=98, users_per_side=1, spec=SPEC, seed=seed, experiment="")
    return Result(cell, directory)


def shifted(curve: Curve, *, ms: float = 0, points: float = 0) -> Curve:
    return [(time + ms, min(100, share + points * (share > 0))) for time, share in curve]


class Made:
    """Results by scheme: three seeds that hardly differ, or losses that are said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = 0

    def results(self, losses: Mapping[str, Iterable[float]] | None = None, **by: Curve) -> dict[str, list[Result]]:
        self.made += 1
        folder = self.folder / str(self.made)
        found = {
            name: [written(folder / name / str(seed), curve, seed, 1.0) for seed in (4, 5, 6)]
            for name, curve in by.items()
        }
        for name, some in (losses or {}).items():
            found[name] = [written(folder / name / str(seed), STEEP, seed, loss) for seed, loss in enumerate(some, 4)]
        return found


@pytest.fixture
def make(tmp_path: Path) -> Made:
    return Made(tmp_path)


def both(*parts: Part) -> ReviewedClaim:
    return reviewed_claim("made-1", "words", *parts)


@pytest.mark.parametrize(("ms", "outcome"), [(35, "holds"), (45, "fails")])
def test_steep_curves_are_the_same_within_two_percent_of_time(make: Made, ms: float, outcome: str) -> None:
    # 40 ms of 2,000: on the steep part the shares are 50 points apart. The other end of the curve moves by less.
    moved = [(100 + ms, 0), (100.001 + ms, 50), *STEEP[2:]]
    found = SameCurve(one="a", other="b")(make.results(a=STEEP, b=moved))
    assert found.outcome == outcome
    assert found.estimate == pytest.approx(ms / 20, abs=0.02)


@pytest.mark.parametrize(("points", "outcome"), [(1.9, "holds"), (2.1, "fails")])
def test_flat_curves_are_the_same_within_two_points(make: Made, points: float, outcome: str) -> None:
    flat: Curve = ((100, 0), (100.001, 50), (1900, 50), (1900.001, 100))
    moved: Curve = ((100, 0), (100.001, 50 + points), (1900, 50 + points), (1900.001, 100))
    found = SameCurve(one="a", other="b")(make.results(a=flat, b=moved))
    assert found.outcome == outcome
    assert found.estimate == pytest.approx(points, abs=0.01)


def test_close_is_five_percent_within_the_range(make: Made) -> None:
    moved = [(*STEEP[0],), (100.001, 54), (1000, 54), (1900, 100)]
    results = make.results(a=STEEP, b=moved)
    assert SameCurve(one="a", other="b")(results).outcome == "fails"
    assert SameCurve(one="a", other="b", limit=CLOSE)(results).outcome == "holds"
    assert SameCurve(one="a", other="b", to_ms=95)(results).outcome == "holds"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1, 1990), min_size=2, max_size=6, unique=True), st.floats(-80, 80))
def test_the_distance_of_curves_is_symmetric_and_bounded(times: list[float], ms: float) -> None:
    axis = np.arange(0, 2000.1, 5.0)
    one = np.interp(axis, sorted(times), np.linspace(0, 100, len(times)))
    other = np.interp(axis + ms, sorted(times), np.linspace(0, 100, len(times)))
    seen = np.ones_like(axis, dtype=bool)
    there, back = curves._max_distance(axis, one, other, seen), curves._max_distance(axis, other, one, seen)
    assert curves._max_distance(axis, one, one, seen) == pytest.approx(0, abs=1e-9)
    assert max(there, back) <= float(np.abs(one - other).max()) + 1e-9


def test_better_is_a_point_on_average_and_nowhere_below(make: Made) -> None:
    # Half of the axis is 50 points wide: what is above there by 2.2 is above by 1.1 on average.
    ahead = [(100, 0), (100.001, 52.2), (1100, 52.2), (1100.001, 52.2), (1900, 100)]
    reference = [(100, 0), (100.001, 50), (1100, 50), (1100.001, 52.2), (1900, 100)]
    results = make.results(a=ahead, b=reference)
    found = BetterCurve(one="a", other="b")(results)
    assert found.outcome == "holds"
    assert found.estimate == pytest.approx(1.1, abs=0.01)
    assert BetterCurve(one="a", other="b", by=2.5)(results).outcome == "fails"
    assert BetterCurve(one="a", other="b", from_ms=100, to_ms=1000, by=2.0)(results).outcome == "holds"
    assert BetterCurve(one="b", other="a")(results).outcome == "fails"
    assert BetterCurve(one="b", other="a", negated=True)(results).outcome == "holds"
    assert BetterCurve(one="a", other="b", negated=True)(results).outcome == "fails"


def test_a_curve_below_the_other_somewhere_is_not_better(make: Made) -> None:
    reference = [(100, 0), (100.001, 50), (1500, 50), (1500.001, 80), (1950, 100)]
    crossing = [(100, 0), (100.001, 70), (1500, 70), (1500.001, 73), (1950, 100)]
    results = make.results(a=crossing, b=reference)
    found = BetterCurve(one="a", other="b")(results)
    assert found.outcome == "fails"
    assert found.what.startswith("furthest below")
    assert NoWorseCurve(one="a", other="b", to_ms=1400)(results).outcome == "holds"
    assert NoWorseCurve(one="a", other="b", from_ms=1400)(results).outcome == "fails"


def test_a_tie_in_the_last_printed_digit_decides_nothing(make: Made) -> None:
    results = make.results({"a": [1.24, 1.24, 1.24], "b": [1.16, 1.16, 1.16], "c": [1.14, 1.14, 1.14]})
    assert Greater(one=quantity(LOSS, "a"), than=quantity(LOSS, "b"))(results).outcome == "undecided", (
        "both are printed 1.2"
    )
    assert Greater(one=quantity(LOSS, "b"), than=quantity(LOSS, "c"))(results).outcome == "holds", "1.2 and 1.1"
    assert Greater(one=quantity(LOSS, "c"), than=quantity(LOSS, "a"))(results).outcome == "fails"


def test_approximately_is_within_five_percent_of_the_axis(make: Made) -> None:
    results = make.results({"a": [86.0, 86.1, 86.2], "b": [84.0, 84.1, 84.2]})
    for number, outcome in ((90, "holds"), (91.4, "fails"), (91.2, "undecided"), (81.4, "holds")):
        assert approximately(quantity(LOSS, "a"), number)(results).outcome == outcome
    assert approximately(difference(quantity(LOSS, "a"), quantity(LOSS, "b")), 0, axis=10)(results).outcome == "fails"
    assert InRange(value=change_percent(LOSS, "a", "b"), low=2, high=3)(results).outcome == "holds"
    assert count_greater(
        "", [(quantity(LOSS, "a"), quantity(LOSS, "b")), (quantity(LOSS, "b"), quantity(LOSS, "a"))]
    ).each(results).tolist() == [1, 1, 1]


def test_a_change_over_nothing_is_undecided(make: Made) -> None:
    results = make.results({"a": [1.0, 2.0, 3.0], "none": [0.0, 0.0, 0.0]})
    found = InRange(value=change_percent(LOSS, "a", "none"), high=-50)(results)
    assert found.outcome is Outcome.UNDECIDED
    assert found.numbers()["estimate"] is None


def test_the_area_is_that_under_the_curve(make: Made) -> None:
    (result, *_) = make.results(a=((0, 0), (2000, 100)))["a"]
    assert AREA.measure(result) == pytest.approx(50, abs=0.01)


PRINTED = {"a": {"loss": 1.2}, "b": {"loss": 1.1}, "c": {"loss": 1.1}, "d": {"loss": 1.4}}
A, B, C, D = (quantity(LOSS, name) for name in "abcd")


def test_a_claim_with_a_contradicted_part_cannot_hold(make: Made) -> None:
    results = make.results({"a": [2.0] * 3, "b": [1.0] * 3, "c": [1.0] * 3, "d": [3.0] * 3})
    more_than_all = both(*(Greater(one=A, than=other) for other in (B, C, D)))
    conclusion = more_than_all.decide(results, PRINTED)
    assert (conclusion.outcome, conclusion.held, conclusion.parts, conclusion.cause) == ("inconsistent", 2, 2, "paper")
    assert conclusion.contradicted == ("loss, %, a above loss, %, d (not so in the paper)",)
    assert "1 excluded: not so in the paper" in conclusion.text()
    fails = both(Greater(one=A, than=D), Greater(one=A, than=B)).decide({**results, "a": results["c"]}, PRINTED)
    assert (fails.outcome, fails.cause) == ("undecided", "none"), "ours is a tie in what remains"
    worse = make.results({"a": [0.5] * 3})
    assert both(Greater(one=A, than=D), Greater(one=A, than=B)).decide({**results, **worse}, PRINTED).outcome == "fails"


def test_a_tie_in_the_paper_is_excluded(make: Made) -> None:
    results = make.results({"a": [2.0] * 3, "b": [1.0] * 3, "c": [1.5] * 3})
    conclusion = both(Greater(one=A, than=B), Greater(one=B, than=C)).decide(results, PRINTED)
    assert (conclusion.outcome, conclusion.held, conclusion.parts, len(conclusion.ties)) == ("holds", 1, 1, 1)
    alone = both(Greater(one=B, than=C)).decide(results, PRINTED)
    assert (alone.outcome, alone.parts, alone.cause) == ("undecided", 0, "none")
    assert alone.text() == "1 excluded: a tie"
    ours = both(Greater(one=B, than=C)).decide(results, {})
    assert ours.outcome == "fails", "where nothing is printed ours decides alone"


def test_a_part_contradicted_by_the_paper_is_left_out(make: Made) -> None:
    results = make.results(a=STEEP, b=shifted(STEEP, points=10))
    slowed, not_so = BetterCurve(one="b", other="a"), BetterCurve(one="a", other="b", negated=True)
    claim = both(slowed, not_so, SameCurve(one="a", other="b", to_ms=90))

    def contradiction(run: str) -> str | None:
        return "its losses cannot have" if run == "a" else None

    assert claim.decide(results, {}).outcome == "holds"
    conclusion = claim.decide(results, {}, contradiction)
    assert (conclusion.outcome, conclusion.held, conclusion.parts) == ("inconsistent", 2, 2)
    assert conclusion.contradicted[0].endswith("(its losses cannot have)")


def test_claims_are_decided_at_half_and_double_the_limits(make: Made) -> None:
    moved = [(130, 0), (130.001, 50), *STEEP[2:]]
    conclusion = both(SameCurve(one="a", other="b")).decide(make.results(a=STEEP, b=moved), {})
    assert (conclusion.at_half, conclusion.outcome, conclusion.at_double) == ("fails", "holds", "holds")
    ahead = shifted(STEEP, points=3)
    conclusion = both(BetterCurve(one="b", other="a")).decide(make.results(a=STEEP, b=ahead), {})
    assert conclusion.outcome == conclusion.at_half == "holds"
    conclusion = both(BetterCurve(one="b", other="a", by=1.5)).decide(make.results(a=STEEP, b=ahead), {})
    assert (conclusion.outcome, conclusion.at_double) == ("holds", "fails")


def test_without_a_request_nothing_is_decided(make: Made, tmp_path: Path) -> None:
    empty = pl.DataFrame({"time_low_ms": [], "time_high_ms": [], "count": []})
    results = make.results(a=STEEP)
    results["b"] = [written(tmp_path / "b" / str(seed), STEEP, seed, 1.0) for seed in (4, 5, 6)]
    for result in results["b"]:
        fixtures.results.write(result.directory, response_times=empty)
    for part in (SameCurve(one="a", other="b"), NoWorseCurve(one="b", other="a"), BetterCurve(one="a", other="b")):
        assert part(results).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("name", "contradicted"),
    [
        ("le2003", {"le2003-23": 1, "le2003-24": 1, "le2003-25": 1, "le2003-57": 9}),
        ("le2004", {"le2004-43": 1}),
        ("kwon2003", {}),
        ("kuzmanovic2005", {"kuzmanovic2005-5": 4}),
    ],
)
def test_the_papers_own_tables_contradict_these_claims_only(name: str, contradicted: dict[str, int]) -> None:
    study = find(name)
    printed = study.printed()
    decided = {each.id: [part.on_paper(printed) for part in each.parts] for each in study.reviewed_claims()}
    assert {id_: found.count(Outcome.FAILS) for id_, found in decided.items() if Outcome.FAILS in found} == contradicted
    assert sum(outcome is Outcome.HOLDS for found in decided.values() for outcome in found) >= 10
