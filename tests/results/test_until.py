from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import aqmlab as lab
from aqmlab.cells.cell import Cell
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.metrics.parts import Parts
from aqmlab.results.sequential import StoppingRule, StopReason, Target, Width
from aqmlab.stats import LOOKS
from aqmlab.store.result import Result
from conftest import Command

WHOLE = Parts((), (), (), (), ())
"""No part of the traffic has numbers of its own."""

Measured = Callable[[int], float | None]


def ran(until: StoppingRule, measured: dict[str, Measured], cpu_s: float = 60.0) -> tuple[list[int], StopReason]:
    """Go on with schemes that measure this under each seed; return the numbers of seeds that were run."""
    numbers: list[int] = []

    def result(label: str, seed: int) -> Result:
        value = measured[label](seed)
        times = dict.fromkeys(("mean", "p50", "p90", "p95", "p99"), value)
        summary = {
            "response_time_ms": times,
            "loss_percent": value,
            "throughput_mbps": 5.0 + seed / 1000,
            "fraction_within_500ms": 1.0,
        }
        signal = "none" if label == "uncongested" else "drop"
        cell = SimpleNamespace(label=label, signal=signal)
        stub = SimpleNamespace(cell=cell, summary=summary, metadata={"cpu_s": cpu_s})
        return cast(Result, stub)

    def cells(seeds: Sequence[int]) -> list[Cell]:
        numbers.append(len(seeds))
        return cast(list[Cell], [(label, seed) for label in measured for seed in seeds])

    _, stop = until.run(cells, lambda cells: [result(*cast(Any, cell)) for cell in cells])
    return numbers, stop


def read(*targets: str, budget: str | None = None) -> StoppingRule:
    until = StoppingRule.read(targets, budget, lambda: WHOLE)
    assert until is not None
    return until


def noisy(deviation: float) -> Measured:
    return lambda seed: 100 + deviation * (-1) ** seed


@pytest.mark.parametrize(("deviation", "looks"), [(0.1, 1), (3.0, 1), (5.0, 2), (9.0, 3), (14.0, 4)])
def test_it_stops_at_the_first_look_at_which_all_is_known(deviation: float, looks: int) -> None:
    numbers, stop = ran(read("p95 within 7 %"), {"codel": noisy(0.1), "pi": noisy(deviation)})
    assert numbers == list(LOOKS[:looks])
    assert (stop.look, stop.is_met) == (looks, True)
    assert str(stop) == (
        f"Stopped at look {looks} of 4, with {LOOKS[looks - 1]} seeds:"
        " p95 within 7 % under every scheme, with 95 % over all looks."
    )


def test_every_target_is_to_be_met_under_every_scheme() -> None:
    numbers, stop = ran(read("throughput within 1 %", "loss within 1 %"), {"codel": noisy(0.1), "pi": noisy(30.0)})
    assert numbers == list(LOOKS)
    assert not stop.is_met
    assert [(width.scheme, width.target.number.name) for width in stop.widths if not width.is_met] == [("pi", "loss")]
    assert "Stopped at look 4 of 4, with 40 seeds: there is no further look; loss of pi is known to within " in str(
        stop
    )
    assert "codel" not in str(stop)


@pytest.mark.parametrize(
    ("budget", "numbers", "look"), [("9 min", [2], None), ("10 min", [2, 5], 1), ("39 min", [2, 5, 10], 2)]
)
def test_no_look_is_begun_that_needs_more_than_the_budget(budget: str, numbers: list[int], look: int | None) -> None:
    # Two schemes of a minute each: 2 minutes for each seed.
    run, stop = ran(read("p50 within 1 %", budget=budget), {"codel": noisy(0.01), "pi": noisy(30.0)})
    assert run == numbers
    assert (stop.look, stop.is_met) == (look, False)
    words = r"needs \d+ min 0 s of processor time in all, the budget is \d+ min 0 s; p50 of pi is (not )?known"
    assert re.search(words, str(stop))


def test_a_short_budget_is_told_with_what_a_look_needs() -> None:
    _, stop = ran(read("p50 within 1 %", budget="1 ms"), {"pi": noisy(30.0)}, cpu_s=0.062)
    assert "the next look needs 0.31 s of processor time in all, the budget is 0.001 s" in str(stop)


def test_what_no_seed_has_is_bounded_and_never_known() -> None:
    numbers, stop = ran(read("loss within 50 %"), {"pi": lambda seed: 0.0})
    assert (numbers, stop.is_met) == (list(LOOKS), False)
    assert str(stop).endswith("loss of pi is 0 in all 40 seeds: at most 7.2 % of seeds have any.")
    width = Width(Target(NUMBERS["loss"], 50), "pi", (0.0,) * 5)
    assert str(width) == "loss of pi is 0 in all 5 seeds: at most 45 % of seeds have any"
    assert (width.percent, width.is_met) == (None, False)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((2.0,) * 5, "loss of pi is 2 % in all 5 seeds, which does not show how much it varies"),
        ((0.0, 0.0, 0.1, 0.0, 0.0), "loss of pi is 0 in 4 of 5 seeds: too few nonzero values for an interval"),
        ((0.1,) * 5, "loss of pi is 0.1 % in all 5 seeds, which does not show how much it varies"),
    ],
)
def test_values_without_an_interval_are_not_known(values: tuple[float, ...], message: str) -> None:
    width = Width(Target(NUMBERS["loss"], 100), "pi", values)
    assert (str(width), width.is_met) == (message, False)


def test_the_uncongested_network_need_not_be_known() -> None:
    numbers, stop = ran(read("loss within 50 %"), {"uncongested": lambda seed: 0.0, "pi": noisy(1.0)})
    assert (numbers, stop.is_met) == ([5], True)


def test_what_has_no_value_is_never_known() -> None:
    _, stop = ran(read("p99 within 50 %"), {"pi": lambda seed: None if seed == 3 else 1.0})
    assert not stop.is_met
    assert "p99 has no value in a seed of pi" in str(stop)


def test_each_measure_can_be_asked_for_by_its_name() -> None:
    for measure in NUMBERS:
        assert Target.read(f" {measure}  within 2.5% ", WHOLE) == Target(NUMBERS[measure], 2.5)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("--until", "p96 within 5 %"),
            "until: no number is called 'p96' (did you mean 'p99'?); there are loss, marks",
        ),
        (("--until", "p95"), "until: must be as"),
        (("--until", "p95 within 0 %"), "until: must be as"),
        (("--until", "p95 within 5 ms"), "until: must be as"),
        (("--until", "p95 within 5 %", "--budget", "2"), "budget: "),
        (("--until", "p95 within 5 %", "--seeds", "4"), "seeds: cannot be with until"),
        (("--until", "p95 within 5 %", "--pcap", "file.pcapng"), "pcap: cannot be with until"),
        (("--budget", "2 h"), "budget: needs until"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, arguments: tuple[str, ...], reason: str) -> None:
    outcome = aqmlab("compare", "pi", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert reason in outcome.err


def test_the_command_says_where_it_stopped_and_why(aqmlab: Command) -> None:
    brief = ("--users", "300", "--warmup", "2 s", "--duration", "15 s", "--no-baseline", "--no-figures", "pi", "codel")
    conditions = ("--until", "p50 within 90 %", "--until", "completed within 90 %", "--paired")
    outcome = aqmlab("compare", *brief, *conditions)
    words = " ".join(outcome.out.split())
    assert "Stopped at look 1 of 4, with 5 seeds: p50 within 90 %, completed within 90 % under" in words
    assert "half of the 95 % interval, simultaneous for all looks" in words
    record = json.loads(aqmlab("compare", *brief, *conditions, "--json").out)
    assert (record["until"]["look"], record["until"]["met"], len(record["until"]["widths"])) == (1, True, 4)
    assert record["schemes"][1]["paired"]["confidence"] == pytest.approx(0.9875)
    assert len(record["schemes"][0]["seeds"]) == 5


def test_a_comparison_in_python_goes_on_alike(small: lab.Experiment, tmp_path: Path) -> None:
    brief = small.model_copy(update={"protocol": lab.Protocol(warmup="1 s", duration="3 s")})
    compared = lab.compare("pi", experiment=brief, until=["completed within 99 %"], baseline=False, out=tmp_path)
    assert [result.cell.seed for result in compared.results] == [1, 2, 3, 4, 5]
    assert compared.stop is not None
    assert compared.notes[-1] == str(compared.stop)
    with pytest.raises(lab.SpecError, match=r"^until: must be several"):
        lab.compare("pi", experiment=brief, until="throughput within 90 %", out=tmp_path)
