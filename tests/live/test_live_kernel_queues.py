"""Our drop-tail beside the kernel's: the same datagrams, more than the link carries, through ``tbf`` over either queue.

``pfifo`` counts packets, ``bfifo`` bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.live import doctor
from aqmlab.live.run import run_live

pytestmark = pytest.mark.usefixtures("_live_permitted")

RATE, OFFERED, PACKET, SECONDS = 4_000_000, 5_000_000, 1000, 5
"""The link and the datagrams in bits a second, a datagram in bytes with headers, and seconds."""

ETHERNET = 14
"""Bytes of header that the kernel's shaper and its queues count; our queues count packets without it."""

WAITING = 40
"""Packets that may wait. In bytes there is room for half a packet more, which both must leave empty."""

LIMITS = {
    "pfifo": (WAITING, str(WAITING)),
    "bfifo": (f"{WAITING * PACKET + PACKET // 2} B", str(WAITING * (PACKET + ETHERNET) + PACKET // 2)),
}
"""By the kernel's queue, our limit and its own."""

THROUGH_THE_KERNEL = f"""
import json, socket, struct, subprocess, threading, time
for words in (
    "ip link set lo up",
    "tc qdisc add dev lo root handle 1: tbf rate {RATE}bit burst {5 * (PACKET + ETHERNET)} limit 10mb",
    "tc qdisc add dev lo parent 1: QUEUE",
):
    subprocess.run(words.split(), check=True)
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 0))
to.settimeout(1)
delays = []
def receive():
    try:
        while True:
            sent_at, = struct.unpack_from("d", to.recv(2000))
            delays.append((sent_at, time.monotonic()))
    except TimeoutError:
        pass
receiver = threading.Thread(target=receive)
receiver.start()
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin, sent, late = time.monotonic(), 0, 0
while (due := begin + sent * {8 * PACKET / OFFERED}) < begin + 1 + {SECONDS}:
    time.sleep(max(0, due - time.monotonic()))
    late = max(late, time.monotonic() - due)
    sender.sendto(struct.pack("d", time.monotonic()).ljust({PACKET - 28}), to.getsockname())
    sent += 1
receiver.join()
# As a live run does: what was sent in the window, which begins when the queue is full.
counted = [come - gone for gone, come in delays if gone > begin + 1]
sent -= {OFFERED // (8 * PACKET)}
print(json.dumps({{"sent": sent, "come": len(counted), "delay_s": sum(counted) / len(counted), "late_s": late}}))
"""


FULL_S = 8 * WAITING * PACKET / RATE
"""The time for which a full queue keeps the link busy."""


def through_the_kernel(queue: str, limit: str) -> dict[str, float]:
    """Send the datagrams through a queue of the kernel's: what became of them."""
    (check,) = (check for check in doctor.examine().checks if check.what == "queues of the kernel's own")
    has = check.found.partition(";")[0].split()
    if not {"tbf", queue} <= set(has):
        pytest.skip(f"the kernel has no tbf over {queue}: {check.found}")
    script = THROUGH_THE_KERNEL.replace("QUEUE", f"{queue} limit {limit}")
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", script]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No such file or directory: 'tc'" in process.stderr:
        pytest.skip("tc is not installed")
    assert process.returncode == 0, process.stderr
    result: dict[str, float] = json.loads(process.stdout)
    if result["late_s"] > FULL_S / 2:
        pytest.skip(f"a datagram was sent {result['late_s']:.3f} s late: the queue may have been empty")
    return result


@pytest.mark.slow
@pytest.mark.parametrize("queue", LIMITS)
def test_our_drop_tail_loses_and_delays_as_the_kernels_does(queue: str, tmp_path: Path) -> None:
    our_limit, its_limit = LIMITS[queue]
    kernel = through_the_kernel(queue, its_limit)
    experiment = lab.Experiment.model_validate(
        {
            "link": {"rate": f"{RATE} bit/s", "overhead": f"{ETHERNET} B", "delay": "0 s", "device_fifo": 0},
            "queue": {"droptail": {"limit": our_limit}},
            "users": {"per_side": 0},
            "protocol": {"warmup": "1 s", "duration": f"{SECONDS} s"},
            "sources": [{"datagrams": {"rate": f"{OFFERED} bit/s", "packet": f"{PACKET} B", "spread": "0 s"}}],
        }
    )
    result = run_live(experiment, out=tmp_path)
    if reasons := result.metadata["live"]["invalid_reasons"]:
        pytest.skip(f"the run is invalid: {'; '.join(reasons)}")
    (summary,) = result.summary["sources"]
    lost = 100 * (1 - kernel["come"] / kernel["sent"])
    # A busy machine makes the kernel's shaper, which wakes by a timer of its own, lose some of its rate.
    assert summary["loss_percent"] == pytest.approx(lost, abs=2.5)
    assert summary["loss_percent"] == pytest.approx(100 * (1 - RATE / OFFERED * PACKET / (PACKET + ETHERNET)), abs=1)
    # The kernel carries what the link does, and no more.
    assert 8 * PACKET * kernel["come"] / SECONDS == pytest.approx(RATE * PACKET / (PACKET + ETHERNET), rel=0.03)
    # A packet leaves the kernel's shaper whole when its tokens are there; over our link its bits take their time.
    one_ms = 8e3 * (PACKET + ETHERNET) / RATE
    assert summary["datagrams"]["delay_ms_mean"] == pytest.approx(1e3 * kernel["delay_s"] + one_ms, rel=0.05)
