"""Searches and sensitivity: answers that are known, luck that is found out, and mistakes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import aqmlab as lab
from aqmlab.campaigns.search import plot, space
from aqmlab.campaigns.search.evaluate import Evaluator, Values
from aqmlab.spec import schemes
from conftest import Command
from custom_laws import importable
from fixtures.campaigns import tables

TINY = lab.Experiment(
    link={"rate": "2 Mbit/s"},
    users={"per_side": 400},
    protocol={"warmup": "2 s", "duration": "18 s"},
)

Answers = Callable[[Sequence[float], int], Sequence[float]]
"""The value of each objective for a setting under a seed."""


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers, Sequence[float]], None]:
    """Let a function stand for the simulator: of a point and a seed, and what the scheme as given comes to."""

    def stand_in(answers: Answers, default: Sequence[float]) -> None:
        def evaluate(self: Evaluator, points: Sequence[Sequence[float]], seeds: Sequence[int]) -> list[list[Values]]:
            by_seed = [np.array([answers(point, seed) for seed in seeds]).T for point in points]
            return [list(value) for value in by_seed]

        monkeypatch.setattr(Evaluator, "evaluate", evaluate)
        monkeypatch.setattr(
            Evaluator, "baseline", lambda self, seeds: [np.full(len(seeds), value) for value in default]
        )

    return stand_in


def test_a_search_finds_where_a_bowl_is_lowest(answer: Callable[..., None], tmp_path: Path) -> None:
    answer(lambda point, seed: [100 * sum((x - 0.3) ** 2 for x in point) + seed], [20.0])
    tuned = lab.tune("pi", "q_ref=10..1000,a", minimise=["p95"], trials=120, out=tmp_path)
    (best, *_) = tuned.best
    assert best.found.point == pytest.approx([0.3, 0.3], abs=0.06)
    # 0.3 of the way from 10 to 1000, by factors.
    assert f"q_ref={10 * 100 ** best.found.point[0]:.6g}," in best.found.scheme
    assert best.found.means[0] == pytest.approx(-18, abs=1)
    assert best.interval(0)[0] == pytest.approx(-15, abs=1)


def test_the_best_of_pure_luck_is_nothing_on_fresh_seeds(answer: Callable[..., None], tmp_path: Path) -> None:
    def luck(point: Sequence[float], seed: int) -> list[float]:
        return [np.random.default_rng([seed, *np.array(point).view(np.uint64)]).normal()]

    answer(luck, [0.0])
    tuned = lab.tune("pi", "q_ref", minimise=["p95"], trials=200, seeds=range(5), confirm=10, out=tmp_path)
    assert all(candidate.found.means[0] < -0.5 for candidate in tuned.best)
    assert abs(np.mean([candidate.interval(0)[0] for candidate in tuned.best])) < 0.5
    assert tuned.fresh_seeds == (5, 6, 7, 8, 9)


def test_of_two_objectives_there_is_a_front(answer: Callable[..., None], tmp_path: Path) -> None:
    answer(lambda point, seed: [point[0] ** 2 + point[1], 1 - (1 - point[0]) ** 2 - point[1]], [0.0, 0.0])
    tuned = lab.tune(
        "pi", "q_ref,sampling_hz", minimise=["p95"], maximise=["throughput"], trials=150, out=tmp_path, confirm=4
    )
    for candidate in tuned.front:
        assert not any(
            other.means[0] < candidate.means[0] and other.means[1] > candidate.means[1] for other in tuned.candidates
        )
    ends = sorted(candidate.found.means[0] for candidate in tuned.best)
    assert len(tuned.best) == 4
    assert ends[0] == min(candidate.means[0] for candidate in tuned.front)
    assert ends[-1] == max(candidate.means[0] for candidate in tuned.front)


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    first = lab.tune("pi", "q_ref=5..50", minimise=["delay"], experiment=TINY, trials=6, seeds=[1], out=tmp_path)
    mtimes = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    rerun = lab.tune("pi", "q_ref=5..50", minimise=["delay"], experiment=TINY, trials=6, seeds=[1], out=tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")} == mtimes
    assert rerun.trials.equals(first.trials)
    longer = lab.tune("pi", "q_ref=5..50", minimise=["delay"], experiment=TINY, trials=8, seeds=[1], out=tmp_path)
    assert longer.trials.head(4).equals(first.trials.head(4))
    # A shorter target is a shorter queue: the first thing that anybody would try it on.
    assert first.best[0].found.means[0] <= float(np.median(first.trials["delay, ms"]))


class _Idle(Executor):
    """Has nothing to do, or says so."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        raise AssertionError("a cell is run that the store has")


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn"))],
    ids=["threads", "processes"],
)
def test_any_executor_finds_the_same(tmp_path: Path, make: Callable[[], Executor]) -> None:
    def search(out: Path, executor: Executor | None) -> tuple[lab.TuningResult, lab.Sensitivity]:
        options: dict[str, Any] = {"experiment": TINY, "seeds": [1], "out": out, "executor": executor}
        tuned = lab.tune("pi", "q_ref=5..50", minimise=["delay"], trials=5, confirm=1, **options)
        return tuned, lab.sensitivity("pi", "q_ref=5..50", of=["delay", "utilisation"], points=2, **options)

    with make() as executor, patch.object(executor, "submit", wraps=executor.submit) as submit:
        remote = search(tmp_path / "there", executor)
    assert submit.call_count == len(list((tmp_path / "there" / "cells").iterdir())), "each cell, and once"
    local = search(tmp_path / "here", None)
    assert remote[0].record() == local[0].record()
    assert remote[1].indices.equals(local[1].indices)
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    rerun = search(tmp_path / "there", _Idle())
    assert rerun[0].record() == local[0].record()


LAWS = """
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

import aqmlab as lab


class Step(lab.Law):
    @dataclass
    class Config:
        threshold: Annotated[float, Field(ge=1), "packets", "From here on."] = 20.0

    def __init__(self, config, link, rng):
        super().__init__(config, link, rng)
        Path(__file__).with_name(f"{os.getpid()}.pid").touch()

    def on_enqueue(self, packet, queue, now):
        return "drop" if queue.packets >= self.config.threshold else "pass"


class Wrong(Step):
    def on_enqueue(self, packet, queue, now):
        return 1 / 0
"""


@pytest.fixture
def law_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of laws that tell where they run: one that works, one that raises."""
    return importable(LAWS, tmp_path, monkeypatch)


def test_laws_in_python_are_tuned_in_processes_that_stay(law_module: str, tmp_path: Path) -> None:
    tuned = lab.tune(
        f"{law_module}:Step",
        "threshold=5..50",
        minimise=["delay"],
        experiment=TINY,
        trials=5,
        seeds=[1],
        confirm=1,
        out=tmp_path / "out",
        workers=2,
    )
    assert len(tuned.trials) == 5
    ran = {int(file.stem) for file in tmp_path.glob("*.pid")}
    assert os.getpid() not in ran
    assert 1 <= len(ran) <= 2, "the same ones from the first setting to the last"


def test_a_scheme_that_fails_as_given_is_refused_everywhere(law_module: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"experiment": TINY, "trials": 1, "seeds": [1]}
    with pytest.raises(lab.SpecError, match=r"Wrong.*seed 1: .*Wrong\.on_enqueue: ZeroDivisionError"):
        lab.tune(f"{law_module}:Wrong", "threshold=5..50", minimise=["delay"], out=tmp_path / "out", **options)


def test_settings_that_are_impossible_are_no_trials(tmp_path: Path) -> None:
    # PI's a must be above its b.
    tuned = lab.tune("pi", "a,b", minimise=["delay"], experiment=TINY, trials=6, seeds=[1], confirm=0, out=tmp_path)
    assert len(tuned.candidates) == 6
    assert tuned.left_out > 0
    with pytest.raises(lab.SpecError, match=r"over: none of 20 settings can be run, the last: pi:a=.*must be above b"):
        lab.tune("pi", "a=1e-9..1e-8", minimise=["delay"], experiment=TINY, trials=2, seeds=[1], out=tmp_path)


def test_sobol_finds_the_indices_of_ishigamis_function(answer: Callable[..., None], tmp_path: Path) -> None:
    def ishigami(point: Sequence[float], seed: int) -> list[float]:
        x, y, z = (math.pi * (2 * coordinate - 1) for coordinate in point)
        return [math.sin(x) + 7 * math.sin(y) ** 2 + 0.1 * z**4 * math.sin(x)]

    answer(ishigami, [0.0])
    over = "q_ref=0..10,sampling_hz=10..20,a"
    sensitivity = lab.sensitivity("pi", over, of=["p95"], method="sobol", points=2048, seeds=[1], out=tmp_path)
    indices = {row["parameter"]: (row["S1"], row["ST"]) for row in sensitivity.indices.to_dicts()}
    # Ishigami and Homma (1990), from the integrals.
    assert indices["q_ref"] == pytest.approx((0.3139, 0.5576), abs=0.03)
    assert indices["sampling_hz"] == pytest.approx((0.4424, 0.4424), abs=0.03)
    assert indices["a"] == pytest.approx((0.0, 0.2437), abs=0.03)


def test_morris_finds_slopes_and_what_does_nothing(answer: Callable[..., None], tmp_path: Path) -> None:
    answer(lambda point, seed: [30 * point[0] - 10 * point[1] + seed], [0.0])
    over = "sampling_hz=10..20,q_ref=0..10,a"
    sensitivity = lab.sensitivity("pi", over, of=["p95"], points=10, seeds=[1, 2], out=tmp_path)
    assert sensitivity.indices["parameter"].to_list() == ["sampling_hz", "q_ref", "a"]
    assert sensitivity.indices["mu_star"].to_list() == pytest.approx([30, 10, 0])
    assert sensitivity.indices["mu"].to_list() == pytest.approx([30, -10, 0])
    assert sensitivity.indices["sigma"].to_list() == pytest.approx([0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("method", ["morris", "sobol"])
def test_what_nothing_moves_has_no_sensitivity(answer: Callable[..., None], tmp_path: Path, method: str) -> None:
    answer(lambda point, seed: [5.0], [0.0])
    sensitivity = lab.sensitivity("pi", "q_ref,a", of=["p95"], method=method, points=4, out=tmp_path)  # type: ignore[arg-type]
    assert set(sensitivity.indices.drop("measure", "unit", "parameter").to_numpy().ravel()) == {0.0}


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_point_of_a_space_is_a_scheme_with_these_values(first: float, second: float) -> None:
    scheme = schemes.parse("codel:ecn=true,limit=100 packets")
    chosen = space.read(scheme, "target=1 ms..50 ms,interval=20..200 ms")
    queue = schemes.parse(space.scheme_at(scheme, chosen, [first, second]))
    target, interval = (str(queue.queue.parameters[name]).split() for name in ("target", "interval"))
    assert queue.ecn is True
    assert queue.queue.parameters["limit"] == "100 packets"
    assert (target[1], interval[1]) == ("ms", "ms")
    assert float(target[0]) == pytest.approx(50**first, rel=1e-4)
    assert float(interval[0]) == pytest.approx(20 * 10**second, rel=1e-4)


def test_the_scheme_as_given_is_the_first_that_is_tried(answer: Callable[..., None], tmp_path: Path) -> None:
    answer(lambda point, seed: [0.0], [0.0])
    tuned = lab.tune("pi:q_ref=30", "q_ref=3..300", minimise=["p95"], trials=4, out=tmp_path)
    assert tuned.trials["q_ref"][0] == pytest.approx(30, rel=1e-4)
    outside = lab.tune("pi:q_ref=1000", "q_ref=3..300", minimise=["p95"], trials=4, out=tmp_path)
    assert all(value <= 300 for value in outside.trials["q_ref"])


def test_the_reference_setting_has_an_interval_over_seeds(
    answer: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(lambda point, seed: [0.0], [0.0])
    monkeypatch.setattr(Evaluator, "baseline", lambda self, seeds: [np.array([10.0, 12.0, 14.0])[: len(seeds)]])
    tuned = lab.tune("pi", "q_ref", minimise=["p95"], trials=2, out=tmp_path)
    # Student's t for three values: 4.303 standard errors.
    half = 4.3027 * 2 / math.sqrt(3)
    assert tuned.baseline_interval(0) == pytest.approx((12, 12 - half, 12 + half), rel=1e-4)
    assert "which has p95 12 ±5 ms" in repr(tuned)
    (objective,) = tuned.record()["objectives"]
    assert [objective[name] for name in ("baseline", "baseline_low")] == pytest.approx([12, 12 - half], rel=1e-4)
    one = lab.tune("pi", "q_ref", minimise=["p95"], trials=2, seeds=[1], out=tmp_path)
    assert "which has p95 10 ms" in repr(one)
    assert one.record()["objectives"][0]["baseline_high"] is None
    json.dumps(one.record(), allow_nan=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["pi", "--over", "qref=1..2", "--minimise", "p95"],
            "over: pi has no parameter 'qref' (did you mean",
        ),
        (
            ["pi", "--over", "q_ref=1-2", "--minimise", "p95"],
            "over: write q_ref=5..300 or q_ref=1 ms..50 ms, ",
        ),
        (
            ["pi", "--over", "q_ref=9..2", "--minimise", "p95"],
            "over: q_ref: the first end must be less",
        ),
        (["pi", "--over", "mode", "--minimise", "p95"], "over: mode has no number as default, 'byte'"),
        (
            ["pi", "--over", "q_ref=1..1" + 400 * "0", "--minimise", "p95"],
            "over: q_ref: both ends must be finite, got 1..inf",
        ),
        (["pi", "--over", "q_ref,q_ref", "--minimise", "p95"], "over: q_ref is given twice"),
        (
            ["codel", "--over", "target=1 s..50 ms", "--minimise", "p95"],
            "over: target: both ends must have",
        ),
        (["pi", "--over", "q_ref"], "objective: write what to minimise or maximise"),
        (
            ["pi", "--over", "q_ref", "--minimise", "p59"],
            "objective: no number is called 'p59'",
        ),
        (["pi", "--over", "q_ref", "--minimise", "p95", "--maximise", "p95"], "objective: p95 is given twice"),
        (["pj", "--over", "q_ref", "--minimise", "p95"], "pj: no discipline is called 'pj'"),
        (["pi", "--over", "q_ref", "--minimise", "p95", "--load", "-3"], "--load: must be above 0, got -3"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, arguments: list[str], message: str) -> None:
    outcome = aqmlab("tune", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("schemes", "message"),
    [
        (["pi", "codel"], "SCHEME: write one, such as pi:ecn=true, got pi codel"),
        (["a.toml"], "SCHEME: write one, such as pi:ecn=true, got none"),
        (["a.toml", "b.toml", "pi"], "SPEC.toml: write at most one, got a.toml, b.toml"),
    ],
)
def test_a_search_takes_one_spec_and_one_scheme(aqmlab: Command, schemes: list[str], message: str) -> None:
    outcome = aqmlab("tune", *schemes, "--over", "q_ref")
    assert (outcome.code, outcome.err) == (2, f"aqmlab: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "sobel"], "method: must be morris or sobol, got 'sobel'"),
        (["--method", "sobol", "--points", "12"], "points: must be a power of two, got 12"),
        (["--of", "speed"], "of: no number is called 'speed'; there are loss"),
    ],
)
def test_a_mistake_in_a_sensitivity_is_one_line(aqmlab: Command, arguments: list[str], message: str) -> None:
    outcome = aqmlab("sensitivity", "pi", "--over", "q_ref", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


CHANGES = ["link.rate=2 Mbit/s", "users.per_side=400", "protocol.warmup=2 s", "protocol.duration=18 s"]
SHORT = [word for change in CHANGES for word in ("--set", change)]


def test_the_commands(aqmlab: Command, tmp_path: Path) -> None:
    arguments = ["pi:ecn=true", "--over", "q_ref=5..50", *SHORT, "--seeds", "2"]
    two = ["--minimise", "delay", "--maximise", "throughput"]
    tuned = aqmlab("tune", *arguments, *two, "--trials", "4", "--json", "--figure", "front.svg")
    assert tuned.code == 0, tuned.err
    record = json.loads(tuned.out)
    assert len(record["trials"]) == 4
    assert record["fresh_seeds"] == [3, 4]
    assert {"difference", "low", "high"} == set(record["best"][0]["fresh"][0])
    assert "q_ref" in (tmp_path / "front.svg").read_text()
    assert "on fresh seeds, 95 %" in aqmlab("tune", *arguments, *two, "--trials", "4").out
    outcome = aqmlab("sensitivity", *arguments, "--of", "delay", "--points", "2", "--figure", "bars.svg")
    assert outcome.code == 0, outcome.err
    assert "mu_star" in outcome.out
    assert "mu_star, ms" in (tmp_path / "bars.svg").read_text()
    assert aqmlab("sensitivity", *arguments, "--figure", "bars.txt").code == 2


@pytest.mark.parametrize(("method", "indices"), [("morris", ["mu_star"]), ("sobol", ["ST", "S1"])])
def test_bars_are_as_long_as_the_indices_with_their_intervals(
    answer: Callable[..., None], tmp_path: Path, method: Any, indices: list[str]
) -> None:
    answer(lambda point, seed: [30 * point[0] - 10 * point[1] ** 2, point[1]], [0.0, 0.0])
    sensitivity = lab.sensitivity("pi", "q_ref=0..10,a", of=["p95", "loss"], method=method, points=64, out=tmp_path)
    figure = Figure()
    plot.sensitivity(figure, sensitivity)
    for axis, measure in zip(figure.axes, ("p95", "loss"), strict=True):
        rows = sensitivity.indices.filter(measure=measure)
        lengths = sorted(patch.get_width() for patch in axis.patches if isinstance(patch, Rectangle))
        assert lengths == pytest.approx(sorted(rows.select(indices).to_numpy().ravel()))
        ends = [
            segment[:, 0]
            for lines in axis.collections
            if isinstance(lines, LineCollection)
            for segment in lines.get_segments()
        ]
        halves = sorted(float(end[1] - end[0]) / 2 for end in ends)
        assert halves == pytest.approx(
            sorted(rows.select(f"{name}_half" for name in indices).to_numpy().ravel()), abs=1e-9
        )
        assert [label.get_text() for label in axis.get_yticklabels()] == rows["parameter"].to_list()
