"""Congestion controls of the Linux kernel by its own names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab._core import SpecError

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")

NAMES = (
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)


def experiment(**tcp: Any) -> lab.Experiment:
    return lab.Experiment(
        world="kernel",
        link={"rate": "10 Mbit/s"},
        queue={"droptail": {"limit": "100 packets"}},
        users={"per_side": 0},
        sources=[{"bulk": {"name": "bulk", "flows": 1, "rtt": {"fixed": "20 ms"}}}],
        tcp=tcp,
        protocol={"warmup": "2 s", "duration": "3 s"},
    )


@needs_kernel
def test_each_control_of_the_kernel_runs_by_its_name(tmp_path: Path) -> None:
    sources = [{"bulk": {"name": name, "flows": 1, "rtt": {"fixed": "20 ms"}}} for name in NAMES]
    mix = [{"source": name, "share": 1, "congestion": f"kernel:{name}"} for name in NAMES]
    base = experiment(mix=mix)
    result = lab.run(base.model_copy(update={"sources": lab.Experiment(sources=sources).sources}), out=tmp_path)
    assert result.metadata["kernel"]["measured"]["ends_by_congestion"] == dict.fromkeys(NAMES, 2)


@needs_kernel
def test_vegas_keeps_the_queue_short_where_cubic_fills_it(tmp_path: Path) -> None:
    delays = [
        lab.run(experiment(congestion=name), out=tmp_path).summary["directions"][1]["queue_delay_ms"]["mean"]
        for name in ("kernel:vegas", "cubic")
    ]
    # Vegas keeps two to four packets of 1.2 ms in the queue, CUBIC most of 100.
    assert delays[0] < 6 < 50 < delays[1]


@needs_kernel
def test_a_control_that_the_kernel_lacks_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^tcp\.congestion: the kernel has no ledbat: choose reno, .*vegas"):
        lab.run(experiment(congestion="kernel:ledbat"), out=tmp_path)


def test_the_simulator_refuses_a_control_of_the_kernel(tmp_path: Path) -> None:
    simulated = experiment(congestion="kernel:vegas").model_copy(update={"world": "simulated"})
    with pytest.raises(
        SpecError, match=r"^tcp\.congestion: `kernel:vegas` is a congestion control of the Linux kernel, which needs"
    ):
        lab.run(simulated, out=tmp_path)
    with pytest.raises(SpecError, match=r"^tcp\.control: has no effect: `kernel:vegas` is the Linux kernel's"):
        lab.run(experiment(congestion="kernel:vegas", control={"alpha": 2}), out=tmp_path)
