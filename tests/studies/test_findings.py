"""Findings: paired by seed, decided by the interval of the differences."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import fixtures.results
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.predicates import Greater, InRange, Part
from aqmlab.studies.kit.claims.quantities import Column, quantity
from aqmlab.studies.kit.claims.review import reviewed_claim
from aqmlab.studies.kit.findings import Finding, Outcome

LOSS = Column(what="loss, %", measure=lambda result: float(result.summary["loss_percent"]))
LESS = Greater(one=quantity(LOSS, "droptail"), than=quantity(LOSS, "pi"))

# Differences of 0.9, 1.0, 1.1: mean 1, interval [0.752, 1.248]
DROPTAIL, PI = [5.9, 7.0, 5.1], [5.0, 6.0, 4.0]


class Maker:
    """Writes results of a scheme: a loss for each seed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def results(self, label: str, losses: list[float], first_seed: int = 1) -> list[Result]:
        made_results = []
        for seed, loss in enumerate(losses, start=first_seed):
            directory = fixtures.results.write(self.folder / label / str(seed), summary={"loss_percent": loss})
            spec = fixtures.results.resolved()
            cell = Cell(label=label, signal="", load_percent=98, users_per_side=1, spec=spec, seed=seed, experiment="")
            made_results.append(Result(cell, directory))
        return made_results


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    return Maker(tmp_path)


def test_the_numbers_are_those_of_a_paired_t_test(maker: Maker) -> None:
    found = LESS({"droptail": maker.results("droptail", DROPTAIL), "pi": maker.results("pi", PI)})
    reference = stats.ttest_rel(DROPTAIL, PI).confidence_interval(0.95)
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, reference.low, reference.high))
    assert str(found) == "holds: loss, %, droptail less loss, %, pi 1 [0.7516, 1.248], 3 pairs"


def test_the_variation_that_seeds_share_is_no_noise(maker: Maker) -> None:
    common = [1.0, 9.0, 4.0, 20.0]
    more = np.add(common, [1.0, 1.1, 0.9, 1.0]).tolist()
    assert LESS({"droptail": maker.results("droptail", more), "pi": maker.results("pi", common)}).outcome == "holds"


def test_seeds_of_both_schemes_are_paired_in_any_order(maker: Maker) -> None:
    droptail = maker.results("droptail", [99.0, *DROPTAIL])
    pi = maker.results("pi", [*PI, -99.0], first_seed=2)
    found = LESS({"droptail": droptail[::-1], "pi": pi})
    assert found.pairs == 3
    assert found.estimate == pytest.approx(1.0)


@pytest.mark.parametrize("pairs", [0, 1])
def test_fewer_than_two_pairs_decide_nothing(maker: Maker, pairs: int) -> None:
    results = {"droptail": maker.results("droptail", DROPTAIL[:pairs]), "pi": maker.results("pi", PI[:pairs])}
    parts: tuple[Part, ...] = (LESS, InRange(value=quantity(LOSS, "pi"), low=-50))
    for part in parts:
        found = part(results)
        assert (found.outcome, found.pairs, found.low, found.high) == ("undecided", pairs, -math.inf, math.inf)


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
def test_a_mean_is_in_a_range_with_its_whole_interval(maker: Maker, low: float, high: float, outcome: str) -> None:
    # Losses of 5.9, 7.0, 5.1: mean 6, interval [3.629, 8.371]
    part = InRange(value=quantity(LOSS, "droptail"), low=low, high=high)
    assert part({"droptail": maker.results("droptail", DROPTAIL)}).outcome == outcome


def test_a_claim_of_several_parts_fails_with_one(maker: Maker) -> None:
    results = {"droptail": maker.results("droptail", DROPTAIL), "pi": maker.results("pi", PI)}
    holds, fails = LESS, Greater(one=LESS.than, than=LESS.one)
    undecided = InRange(value=quantity(LOSS, "droptail"), low=6)
    cases: list[tuple[tuple[Part, ...], Outcome, int]] = [
        ((holds, holds), Outcome.HOLDS, 2),
        ((holds, undecided), Outcome.UNDECIDED, 1),
        ((undecided, holds, fails), Outcome.FAILS, 1),
    ]
    for parts, outcome, held in cases:
        conclusion = reviewed_claim("made-1", "words", parts).decide(results, {})
        assert (conclusion.outcome, conclusion.held, conclusion.parts) == (outcome, held, len(parts))


def test_a_scheme_without_results_is_named(maker: Maker) -> None:
    with pytest.raises(ValueError, match=r"^results: must have the scheme 'pi', got 'droptail', 'red'$"):
        LESS({"droptail": maker.results("droptail", DROPTAIL), "red": []})


def test_a_claim_without_parts_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^parts: must be at least one, got none$"):
        reviewed_claim("made-1", "words")


def test_a_finding_is_shown_with_its_parts() -> None:
    found = Finding.of("loss, %", np.array([1.0, 2.0, 3.0])).decided(holds=True, fails=False)
    assert found.of_all([found, found]).text().startswith("2 of 2 parts hold; loss, % 2 [")
