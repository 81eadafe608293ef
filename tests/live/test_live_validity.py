"""Validity of live runs, judged by their own statistics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.live import run as live_run
from aqmlab.live.settings import DEFAULT, Settings
from aqmlab.live.validity import NUMBERS, is_still_valid, verdict
from aqmlab.running.process import LiveRun
from aqmlab.store.result import Result

IN_TIME: dict[str, Any] = {
    "router_lateness_ms_p99": 0.9,
    "router_lateness_ms_p999": 4.9,
    "read_lag_ms_p99": 0.9,
    "wake_lateness_ms_p99": 9.9,
    "cpu_left_percent": 5.0,
    "lost_outside": 0,
    "strays": 0,
    "tcp_counters": {"ListenDrops": 0, "RetransSegs": 8},
    "socket_errors": {"Connection timed out (os error 110)": 3},
    "ends_by_congestion": {"reno": 299, "cubic": 1},
    "exit_codes": [1, 0],
}
"""The statistics of a run that is valid by default."""


def test_a_run_that_was_in_time_and_lost_nothing_is_valid() -> None:
    assert IN_TIME.keys() == NUMBERS
    judgement = verdict(IN_TIME, DEFAULT)
    assert (judgement["valid"], judgement["invalid_reasons"]) == (True, [])
    assert judgement["bounds"] == {
        "late_p99_ms": 1.0,
        "late_p999_ms": 5.0,
        "late_reads_ms": 1.0,
        "late_users_ms": 10.0,
        "socket_errors_percent": 1.0,
        "cpu_left_percent": 5.0,
    }


@pytest.mark.parametrize(
    ("number", "value", "reason"),
    [
        ("router_lateness_ms_p99", 2.0, "the router's lateness p99 is 2.000 ms, more than 1 ms"),
        ("router_lateness_ms_p999", 6.0, "the router's lateness p99.9 is 6.000 ms, more than 5 ms"),
        ("read_lag_ms_p99", 2.0, "the lateness of the router's reads p99 is 2.000 ms, more than 1 ms"),
        ("wake_lateness_ms_p99", 11.0, "the users' lateness p99 is 11.000 ms, more than 10 ms"),
        ("cpu_left_percent", 4.9, "the processors had 4.9 % of their time left, less than 5 %"),
        ("exit_codes", [0, 137], "the server ended before the command, with exit code 137"),
        ("lost_outside", 7, "packets lost outside the queues: 7"),
        ("strays", 5, "packets of no connection: 5"),
        ("tcp_counters", {"ListenDrops": 3}, "connections that servers had no room for: 3"),
        ("socket_errors", {"x": 2, "y": 2}, "errors of sockets: 4, more than 1 % of 300 ends of connections"),
    ],
)
def test_each_thing_that_spoils_a_run_is_a_reason(number: str, value: object, reason: str) -> None:
    assert verdict({**IN_TIME, number: value}, DEFAULT)["invalid_reasons"] == [reason]


@pytest.mark.parametrize(
    ("bound", "lax", "strict"),
    [
        ("late_p99_ms", 1.0, 0.8),
        ("late_p999_ms", 5.0, 4.8),
        ("late_reads_ms", 1.0, 0.8),
        ("late_users_ms", 10.0, 9.8),
        ("socket_errors_percent", 1.0, 0.9),
        ("cpu_left_percent", 5.0, 5.1),
    ],
)
def test_each_bound_is_that_of_its_number(bound: str, lax: float, strict: float) -> None:
    def bounded(value: float) -> Settings:
        changed: dict[str, Any] = {bound: value}
        return replace(DEFAULT, **changed)

    stored = {**IN_TIME, **verdict(IN_TIME, DEFAULT)}
    assert is_still_valid(stored, bounded(lax))
    assert not is_still_valid(stored, bounded(strict))
    assert len(verdict(IN_TIME, bounded(strict))["invalid_reasons"]) == 1


def test_a_run_with_missing_evidence_is_invalid() -> None:
    stored = {**IN_TIME, **verdict(IN_TIME, DEFAULT)}
    for number in NUMBERS:
        assert not is_still_valid({name: value for name, value in stored.items() if name != number}, DEFAULT)


@pytest.mark.usefixtures("_live_permitted")
def test_a_stored_run_is_checked_against_the_requested_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Counted(LiveRun):
        def __enter__(self) -> Counted:
            calls.append(self)
            return super().__enter__()

    monkeypatch.setattr(live_run, "LiveRun", Counted)
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s"}, users={"per_side": 20}, protocol={"warmup": "0 s", "duration": "1 s"}
    )
    lax = Settings(late_p99_ms=1e6, late_p999_ms=1e6, late_reads_ms=1e6, late_users_ms=1e6, cpu_left_percent=0)

    def run(settings: Settings) -> Result:
        return live_run.run_live(experiment, out=tmp_path, settings=settings)

    first = run(lax).metadata
    assert first["live"]["valid"]
    late = first["live"]["router_lateness_ms_p99"]
    assert run(replace(lax, late_p99_ms=late)).metadata == first, "it keeps this bound"
    assert len(calls) == 1
    rerun = run(replace(lax, late_p99_ms=0.0)).metadata
    assert len(calls) == 2
    assert rerun["created"] != first["created"]
    assert rerun["live"]["bounds"]["late_p99_ms"] == 0
