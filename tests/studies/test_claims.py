from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import fixtures.results
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims import All, Between, Claim, CloseTo, Dominates, Greater, Predicate, Raises
from aqmlab.studies.kit.findings import Finding, Outcome

EDGES = np.geomspace(1, 1e5, 800)

Make = Callable[..., list[Result]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Results of a scheme as the store has them: a loss and a median response time for each seed."""

    def make(
        label: str, losses: Iterable[float], *, medians: Iterable[float] = (), first_seed: int = 1
    ) -> list[Result]:
        losses, medians = list(losses), list(medians)
        return [
            written(tmp_path / label / str(seed), label, seed, loss, median)
            for seed, (loss, median) in enumerate(
                zip(losses, medians or [100.0] * len(losses), strict=True), start=first_seed
            )
        ]

    return make


def written(directory: Path, label: str, seed: int, loss: float, median: float) -> Result:
    directory.mkdir(parents=True)
    pl.DataFrame({"loss_percent": [loss]}).write_parquet(directory / "summary.parquet")
    count = np.diff(1e6 * share(EDGES, median)).round().astype(np.uint64)
    pl.DataFrame(
        {"time_low_ms": EDGES[:-1], "time_high_ms": EDGES[1:], "size_low_bytes": 0, "count": count}
    ).write_parquet(directory / "response_times.parquet")
    # Schemes that differ in what nobody looks at.
    spec = fixtures.results.resolved(record={"link_every": f"{1000 + sum(label.encode())} ms"})
    cell = Cell(label=label, signal="drop", load_percent=98, users_per_side=9000, spec=spec, seed=seed, experiment="")
    return Result(cell, directory)


def share(time_ms: NDArray[np.float64], median: float) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + (median / time_ms) ** 2))


def loss(result: Result) -> float:
    return float(result.summary["loss_percent"])


def less(margin: float) -> Greater:
    return Greater(what="loss, %", measure=loss, scheme="droptail", than="pi", margin=margin)


def close(margin: float) -> CloseTo:
    return CloseTo(what="loss, %", measure=loss, scheme="droptail", to="pi", margin=margin)


# Differences of 0.9, 1.0, 1.1: mean 1, interval [0.752, 1.248]
DROPTAIL, PI = [5.9, 7.0, 5.1], [5.0, 6.0, 4.0]


def test_the_numbers_are_those_of_a_paired_t_test(make: Make) -> None:
    found = less(0)({"droptail": make("droptail", DROPTAIL), "pi": make("pi", PI)})
    reference = stats.ttest_rel(DROPTAIL, PI).confidence_interval(0.95)
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, reference.low, reference.high))
    assert found.pairs == 3
    assert str(found) == "holds: loss, %, droptail less pi 1 [0.7516, 1.248], 3 pairs"


@pytest.mark.parametrize(
    ("predicate", "outcome"),
    [
        (less(0), "holds"),
        (less(0.7), "holds"),
        (less(0.8), "undecided"),
        (less(1.2), "undecided"),
        (less(1.3), "fails"),
        (close(1.3), "holds"),
        (close(1.2), "undecided"),
        (close(0.8), "undecided"),
        (close(0.7), "fails"),
    ],
)
def test_the_side_of_the_margin_on_which_the_interval_lies_decides(
    make: Make, predicate: Greater | CloseTo, outcome: str
) -> None:
    results = {"droptail": make("droptail", DROPTAIL), "pi": make("pi", PI)}
    assert predicate(results).outcome == outcome


def test_the_other_way_round_greater_fails_and_close_stays_as_it_is(make: Make) -> None:
    swapped = {"droptail": make("droptail", PI), "pi": make("pi", DROPTAIL)}
    assert less(0)(swapped).outcome == "fails"
    assert close(1.3)(swapped).outcome == "holds"
    assert close(0.7)(swapped).outcome == "fails"


def test_what_seeds_have_in_common_is_no_noise(make: Make) -> None:
    # Between seeds losses vary by far more than the schemes differ.
    common = [1.0, 9.0, 4.0, 20.0]
    results = {"droptail": make("droptail", np.add(common, [1.0, 1.1, 0.9, 1.0])), "pi": make("pi", common)}
    assert less(0)(results).outcome == "holds"


def test_only_seeds_that_both_have_are_paired_in_whatever_order(make: Make) -> None:
    droptail, pi = make("droptail", [99.0, *DROPTAIL]), make("pi", [*PI, -99.0], first_seed=2)
    found = less(0)({"droptail": droptail[::-1], "pi": pi})
    assert found.pairs == 3
    assert found.estimate == pytest.approx(1.0)


@pytest.mark.parametrize("pairs", [0, 1])
def test_fewer_than_two_pairs_decide_nothing(make: Make, pairs: int) -> None:
    results = {"droptail": make("droptail", DROPTAIL[:pairs]), "pi": make("pi", PI[:pairs])}
    for predicate in (less(-50), close(50), Dominates(scheme="droptail", over="pi", from_ms=10, to_ms=100, margin=-1)):
        found = predicate(results)
        assert (found.outcome, found.pairs, found.low, found.high) == ("undecided", pairs, -math.inf, math.inf)


def test_the_same_results_are_close_and_neither_is_greater(make: Make) -> None:
    results = {"droptail": make("droptail", PI), "pi": make("pi", PI)}
    assert less(0)(results).outcome == "fails"
    assert close(0.001)(results).outcome == "holds"
    assert dominates(0.0)(results).outcome == "holds", "nowhere less"


def dominates(margin: float, *, to_ms: float = 1000) -> Dominates:
    return Dominates(scheme="droptail", over="pi", from_ms=50, to_ms=to_ms, margin=margin)


def medians(make: Make, droptail: list[float], pi: list[float]) -> dict[str, list[Result]]:
    losses = [1.0] * len(pi)
    return {"droptail": make("droptail", losses, medians=droptail), "pi": make("pi", losses, medians=pi)}


def test_known_dominance_holds_and_the_reverse_fails(make: Make) -> None:
    results = medians(make, [90, 110, 100], [135, 166, 149])
    assert dominates(0.0)(results).outcome == "holds"
    swapped = {"droptail": results["pi"], "pi": results["droptail"]}
    reverse = Dominates(scheme="pi", over="droptail", from_ms=50, to_ms=1000, margin=0.0)(results)
    assert reverse.outcome == "fails"
    assert dominates(0.0)(swapped).outcome == "fails"


def test_noise_leaves_dominance_undecided(make: Make) -> None:
    assert dominates(0.0)(medians(make, [100, 140, 120], [130, 100, 128])).outcome == "undecided"


def test_dominance_has_to_hold_up_to_the_end_of_the_range_by_the_whole_margin(make: Make) -> None:
    results = medians(make, [99, 100, 101], [149, 150, 151])
    # At 1 s the shares differ by little more than a hundredth, at 5 s by less than a thousandth.
    assert dominates(0.01)(results).outcome == "holds"
    far = dominates(0.01, to_ms=5000)(results)
    assert far.outcome == "fails"
    assert far.what.startswith("share within 5000 ms")
    assert far.estimate == pytest.approx(share(np.array(5000), 100) - share(np.array(5000), 150), abs=1e-5)


def test_curves_that_cross_do_not_dominate_each_other_however_far_one_is_ahead(make: Make) -> None:
    results = medians(make, [100, 100, 100], [150, 151, 149])
    for result in results["droptail"]:
        # A tenth of the requests waits for 3 s.
        file = result.directory / "response_times.parquet"
        late = pl.col("time_low_ms").is_between(2900, 3100)
        bins = pl.read_parquet(file).with_columns(count=pl.col("count") + late.cast(pl.UInt64) * 5000)
        bins.write_parquet(file)
    assert dominates(0.0, to_ms=200)(results).outcome == "holds"
    assert dominates(0.0, to_ms=2000)(results).outcome == "fails"


def test_one_point_among_many_fails_by_chance_no_oftener_than_one_claim_would(make: Make) -> None:
    # An interval of 95 % that is just below the margin does not make the claim fail: there are ten points.
    differences = np.array([-0.001, -0.002, -0.003, -0.0015])
    predicate = dominates(0.0)
    assert Finding.of("", differences).high < 0
    assert predicate._at(100.0, differences).outcome is Outcome.UNDECIDED
    assert predicate._at(100.0, differences - 0.01).outcome is Outcome.FAILS


def between(low: float, high: float = math.inf) -> Between:
    return Between(what="loss, %", measure=loss, scheme="droptail", low=low, high=high)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (3.6, 8.4, "holds"),
        (3.7, 8.4, "undecided"),
        (3.6, 8.3, "undecided"),
        (8.3, 9.0, "undecided"),
        (8.4, 9.0, "fails"),
        (-math.inf, 3.7, "undecided"),
        (-math.inf, 3.6, "fails"),
        (3.6, math.inf, "holds"),
    ],
)
def test_a_mean_is_in_a_range_where_its_whole_interval_is(make: Make, low: float, high: float, outcome: str) -> None:
    # Losses of 5.9, 7.0, 5.1: mean 6, interval [3.629, 8.371]
    found = between(low, high)({"droptail": make("droptail", DROPTAIL)})
    assert found.outcome == outcome
    assert found.estimate == pytest.approx(6.0)
    assert found.pairs == 3


def raises(low_percent: float, high_percent: float = math.inf) -> Raises:
    return Raises(
        what="loss, %",
        measure=loss,
        scheme="droptail",
        over="pi",
        low_percent=low_percent,
        high_percent=high_percent,
    )


@pytest.mark.parametrize(
    ("low_percent", "high_percent", "outcome"),
    [
        (4, 36, "holds"),
        (5, 36, "undecided"),
        (4, 35, "undecided"),
        (36, math.inf, "fails"),
        (-math.inf, 4, "fails"),
    ],
)
def test_a_rise_is_taken_seed_by_seed_in_percent_of_the_other(
    make: Make, low_percent: float, high_percent: float, outcome: str
) -> None:
    # Rises of 13.75, 20 and 26.25 %: mean 20, interval [4.47, 35.53]. The sums rise by 22.6 %.
    results = {"droptail": make("droptail", [11.375, 24.0, 50.5]), "pi": make("pi", [10.0, 20.0, 40.0])}
    found = raises(low_percent, high_percent)(results)
    assert found.outcome == outcome
    assert found.estimate == pytest.approx(20.0)


def test_all_hold_together_and_one_failure_is_enough(make: Make) -> None:
    results = {"droptail": make("droptail", DROPTAIL), "pi": make("pi", PI)}
    holds, undecided, fails = less(0), less(0.8), less(1.3)
    cases: list[tuple[tuple[Predicate, ...], Predicate, str]] = [
        ((holds, holds), holds, "holds"),
        ((holds, undecided), undecided, "undecided"),
        ((undecided, holds, fails), fails, "fails"),
    ]
    for parts, deciding, outcome in cases:
        found = All(parts=parts)(results)
        assert found.outcome == outcome
        holding = sum(part is holds for part in parts)
        decided = deciding(results)
        assert found == replace(decided, parts=len(parts), held=holding)
    nested = All(parts=(All(parts=(holds, undecided)), holds))(results)
    assert nested.text().startswith("2 of 3 parts hold; loss")
    assert str(All(parts=(holds, fails))) == f"{holds}; and {fails}"


def test_the_text_of_a_predicate_says_its_range() -> None:
    assert str(between(5)) == "loss, %: droptail is at least 5"
    assert str(between(5, 7)) == "loss, %: droptail is 5 to 7"
    assert str(raises(-math.inf, -50)) == "loss, %: droptail over pi is at most -50 %"


def test_a_claim_decides_by_its_predicate(make: Make) -> None:
    claim = Claim(id="pi-loss", place="a paper, table 1", gist="PI loses less than drop-tail", predicate=less(0))
    results = {"droptail": make("droptail", DROPTAIL), "pi": make("pi", PI)}
    assert claim.decide(results) == less(0)(results)


def test_a_scheme_without_results_is_named(make: Make) -> None:
    with pytest.raises(ValueError, match=r"^results: must have the scheme 'pi', got 'droptail', 'red'$"):
        less(0)({"droptail": make("droptail", DROPTAIL), "red": []})


def test_impossible_margins_ranges_and_points_are_refused() -> None:
    for margin in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=r"^margin: must be above 0, got "):
            close(margin)
    for from_ms, to_ms in ((0, 10), (10, 10), (20, 10)):
        with pytest.raises(ValueError, match=rf"^from_ms: must be above 0 and below to_ms, got {from_ms} to {to_ms}$"):
            Dominates(scheme="a", over="b", from_ms=from_ms, to_ms=to_ms, margin=0)
    with pytest.raises(ValueError, match=r"^high: must be above low = 5, got 5$"):
        between(5, 5)
    with pytest.raises(ValueError, match=r"^high_percent: must be above low_percent, got -1$"):
        raises(0, -1)
    with pytest.raises(ValueError, match=r"^parts: must be at least one, got none$"):
        All(parts=())
    with pytest.raises(ValueError, match=r"^points: must be at least 2, got 1$"):
        Dominates(scheme="a", over="b", from_ms=1, to_ms=2, margin=0, points=1)
