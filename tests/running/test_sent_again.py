"""Segments that hosts send again: the summary's share, against the sequence numbers that a capture of the run has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.live.run import run_live
from aqmlab.store.result import Result
from pcapng import Seen, packets

WARMUP_S = 1.0


def experiment(profile: str, **changes: Any) -> lab.Experiment:
    """Users whose buffer is much too short."""
    settings: dict[str, Any] = {
        "link": {"rate": "2 Mbit/s", "device_fifo": 0},
        "queue": {"droptail": {"limit": 10}},
        "users": {"per_side": 250},
        "tcp": {"profile": profile},
        "protocol": {"warmup": f"{WARMUP_S:g} s", "duration": "6 s"},
    }
    return lab.Experiment(**settings | changes)


def repeats(captured: Iterable[Seen]) -> int:
    """Count the SYNs, data and FINs of the measured window whose first number had been sent before."""
    highest: dict[tuple[bytes, bytes], int] = {}
    repeat_count = 0
    for segment in captured:
        # What takes no numbers acknowledges.
        if segment.next_seq == segment.seq:
            continue
        before = highest.setdefault(segment.sockets, segment.seq)
        is_repeat = (segment.seq - before) % 2**32 >= 2**31
        repeat_count += is_repeat and segment.nanos > WARMUP_S * 1e9
        if (segment.next_seq - before) % 2**32 < 2**31:
            highest[segment.sockets] = segment.next_seq
    return repeat_count


def sent_again(result: Result) -> float:
    arrived = sum(int(way["arrived"]) for way in result.summary["directions"])
    return float(result.summary["retransmit_percent"]) / 100 * arrived


@pytest.mark.parametrize("profile", ["unc-testbed", "linux-6"])
def test_simulated_retransmissions_repeat_sequence_numbers(tmp_path: Path, profile: str) -> None:
    pcap = lab.Pcap(file=tmp_path / "all.pcapng", from_s=0.0)
    result = lab.run(experiment(profile), out=tmp_path, pcap=pcap)
    captured = repeats(packets(tmp_path / "all.pcapng"))
    assert captured > 100
    # It is counted when it is sent, and captured when it comes to the queue, up to a round trip later.
    assert sent_again(result) == pytest.approx(captured, rel=0.05, abs=10)


def test_nothing_is_sent_again_where_nothing_is_lost(tmp_path: Path) -> None:
    result = lab.run(
        experiment("linux-6", link={"rate": "100 Mbit/s"}, queue={"droptail": {"limit": 10_000}}), out=tmp_path
    )
    assert (result.summary["loss_percent"], result.summary["retransmit_percent"]) == (0, 0)


@pytest.mark.usefixtures("_live_permitted")
@pytest.mark.parametrize("profile", ["unc-testbed", "linux-6"])
def test_kernel_retransmissions_repeat_sequence_numbers(tmp_path: Path, profile: str) -> None:
    result = run_live(experiment(profile), out=tmp_path, pcap=lab.Pcap(file=tmp_path / "all.pcapng", from_s=0.0))
    captured = repeats(packets(tmp_path / "all.pcapng"))
    assert captured > 100
    assert sent_again(result) == pytest.approx(captured, rel=0.05, abs=10)
    whole = result.metadata["live"]["tcp_counters"]["RetransSegs"]
    assert whole > sent_again(result), "what was sent again in the warm-up does not count"
