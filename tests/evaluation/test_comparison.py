"""Verdicts: the interval of the difference from CUBIC against the margin."""

from __future__ import annotations

from typing import Literal

import pytest

from aqmlab.evaluation.comparison import Comparison, Verdict, worst
from aqmlab.evaluation.document import Measure, Request


def comparison(
    values: list[float | None], cubic: list[float | None], better: Literal["less", "more"] = "less"
) -> Comparison:
    measure = Measure(text="loss", unit="%", digits=1, better=better, margin=1.0, source="ours")
    request = Request(scenario="s", point="", measure="loss", source="")
    return Comparison(request, measure, tuple(values), tuple(cubic), tuple(cubic), comparisons=1)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.0, 2.0, 3.0], Verdict.MEETS),  # CUBIC itself
        ([1.5, 2.4, 3.6], Verdict.MEETS),  # worse by half of the margin
        ([0.0, 0.1, 0.2], Verdict.MEETS),  # better in each seed
        ([5.0, 6.1, 6.9], Verdict.EXCEEDS),
        ([2.0, 3.0, 4.0], Verdict.MEETS),  # worse by the margin in each seed
        ([2.1, 3.1, 4.1], Verdict.EXCEEDS),
        ([1.0, 6.0, 3.0], Verdict.NOT_DECIDED),
    ],
)
def test_the_interval_and_the_margin_decide(values: list[float | None], verdict: Verdict) -> None:
    assert comparison(values, [1.0, 2.0, 3.0]).verdict is verdict


def test_more_can_be_better() -> None:
    assert comparison([5.0, 6.1, 6.9], [1.0, 2.0, 3.0], "more").verdict is Verdict.MEETS
    assert comparison([1.0, 2.0, 3.0], [5.0, 6.1, 6.9], "more").verdict is Verdict.EXCEEDS


def test_a_missing_value_decides_nothing_and_says_so() -> None:
    missing = comparison([1.0, None, None], [1.0, 2.0, 3.0])
    assert missing.verdict is Verdict.NOT_DECIDED
    assert missing.reason == "the control has no value in 2 of 3 seeds"
    assert missing.record()["worse_than_cubic"] is None


def test_the_worst_comparison_decides_a_clause() -> None:
    assert worst([Verdict.MEETS, Verdict.EXCEEDS, Verdict.NOT_DECIDED]) is Verdict.EXCEEDS
    assert worst([Verdict.MEETS, Verdict.NOT_DECIDED]) is Verdict.NOT_DECIDED
    assert worst([]) is Verdict.NOT_COVERED
