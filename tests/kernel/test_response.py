"""CUBIC of the simulator and of a Linux kernel under the same losses: the mean window."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of both files

import aqmlab as lab
from aqmlab.spec.experiment import Experiment

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")

RTT_S = 0.1

TOLERANCE = 0.02
"""The relative difference up to which two mean windows are equal: ours."""


def mean_window(world: str, congestion: str, every: int, out: Path) -> float:
    """Return the throughput in full packets a round-trip time, with a loss in each ``every`` packets."""
    losses = " ".join(str(number) for number in range(every, 60 * every, every))
    experiment = Experiment(
        world=world,
        link={"rate": "200 Mbit/s", "delay": "1 ms", "device_fifo": 0},
        queue={"scripted": {"drop": losses}},
        queue_back={"scripted": {}},
        tcp={"congestion": congestion},
        users={"per_side": 0},
        sources=[{"bulk": {"flows": 1, "direction": "upload", "spread": "0 s", "rtt": {"fixed": "98 ms"}}}],
        protocol={"warmup": "5 s", "duration": "35 s"},
    )
    result = lab.run(experiment, out=out)
    sent = result.link.filter(result.link["direction"] == 0)["bytes"].sum()
    return float(sent) / 1500 / (35 / RTT_S)


@needs_kernel
@pytest.mark.parametrize("every", [1_000, 10_000, 30_000])
def test_cubic_keeps_the_window_of_linux_under_losses(every: int, tmp_path: Path) -> None:
    simulated, real = (mean_window(world, "cubic", every, tmp_path / world) for world in ("simulated", "kernel"))
    assert simulated == pytest.approx(real, rel=TOLERANCE)


@needs_kernel
def test_cubic_of_the_rfc_does_not(tmp_path: Path) -> None:
    described = mean_window("simulated", "cubic-rfc9438", 10_000, tmp_path / "simulated")
    real = mean_window("kernel", "cubic", 10_000, tmp_path / "kernel")
    assert described != pytest.approx(real, rel=TOLERANCE)
