"""The token bucket of a link against ``tbf`` of the Linux kernel: the same packets at the same nanosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab.conversations.pcapng import read_packets
from aqmlab.spec import schemes

pytestmark = pytest.mark.usefixtures("_kernel_permitted")

BUCKET = {"rate": "5 Mbit/s", "burst": "10240 B", "line": "1 Gbit/s"}
PEAK = {"rate": "20 Mbit/s", "burst": "1514 B"}

ONE_PACKET_NS = 20_000
"""A full and a short packet on the line, in whose order the two may differ."""


def times(scheme: str, rate: Any, out: Path) -> tuple[lab.Result, list[tuple[int, int, int]]]:
    """Return a run, and direction, time and length of the packets at the queues: acknowledgements follow departures."""
    experiment = lab.Experiment(
        world="kernel",
        # As Linux counts packets on Ethernet.
        link={"rate": rate, "header": "14 B", "overhead": "14 B", "device_fifo": 0},
        users={"per_side": 0},
        sources=[
            {"bulk": {"flows": 2, "direction": "upload", "rtt": {"fixed": "20 ms"}}},
            {"datagrams": {"rate": "1 Mbit/s", "packet": "200 B"}},
        ],
        protocol={"warmup": "0 s", "duration": "4 s"},
    )
    file = out / f"{scheme.partition(':')[0]}.pcapng"
    result = lab.run(schemes.parse(scheme).apply_to(experiment), out=out, pcap=lab.Pcap(file=file))
    return result, [(packet.interface, packet.at_ns, packet.length) for packet in read_packets(file)]


@pytest.mark.parametrize(
    ("tbf", "bucket"),
    [("", BUCKET), (" peakrate 20mbit mtu 1514", {**BUCKET, "peak": PEAK})],
    ids=["rate", "peak"],
)
def test_packets_pass_at_the_times_of_tbf(tbf: str, bucket: dict[str, Any], tmp_path: Path) -> None:
    _, theirs = times(f"kernel:tbf rate 5mbit burst 10kb limit 1mb{tbf}", "1 Gbit/s", tmp_path)
    _, ours = times("droptail:limit=1 MB", {"token_bucket": bucket}, tmp_path)
    assert len(ours) == len(theirs) > 3000
    assert sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours) > 0.99
    assert all(abs(one[1] - other[1]) < ONE_PACKET_NS for one, other in zip(ours, theirs, strict=True))


def test_a_full_queue_loses_what_it_loses_under_tbf(tmp_path: Path) -> None:
    # The packet that waits for its tokens is in the queue of tbf, and behind ours.
    real, _ = times("kernel:tbf rate 5mbit burst 10kb limit 30kb", "1 Gbit/s", tmp_path)
    ours, _ = times("droptail:limit=29 kB", {"token_bucket": BUCKET}, tmp_path)
    (theirs, *_), (own, *_) = (result.summary["counters"] for result in (real, ours))
    assert own["sent"] == pytest.approx(theirs["sent"], rel=0.01)
    assert own["dropped_by_limit"] == pytest.approx(theirs["dropped_forced"], rel=0.1)
