"""Two runs in a Linux kernel are equal to the byte: every discipline, with every congestion control of the kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_kernel import _kernel_permitted, tables  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.spec import schemes

CONTROLS = ("bbr", "cubic", "dctcp", "highspeed", "reno")

# The packets to drop have to be named.
SCHEMES = {**{name: name for name in disciplines()}, "scripted": "scripted:drop=20 40"}
KERNELS = (
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "red limit 60kb min 5kb max 30kb avpkt 1000",
    "sfq",
    "cake bandwidth 4mbit",
)

pytestmark = pytest.mark.usefixtures("_kernel_permitted")


def with_each_control(scheme: str) -> lab.Experiment:
    """Return an upload and a download of each congestion control through one queue discipline."""
    experiment = lab.Experiment(
        world="kernel",
        link={"rate": "5 Mbit/s"},
        users={"per_side": 0},
        sources=[
            {"bulk": {"name": f"{name} {direction}", "direction": direction, "flows": 1, "rtt": {"fixed": "20 ms"}}}
            for name in CONTROLS
            for direction in ("upload", "download")
        ],
        tcp={
            "mix": [
                {
                    "source": f"{name} {direction}",
                    "share": 1,
                    "congestion": name,
                    "ecn": "dctcp" if name == "dctcp" else False,
                }
                for name in CONTROLS
                for direction in ("upload", "download")
            ]
        },
        protocol={"warmup": "0 s", "duration": "1500 ms"},
    )
    return schemes.parse(scheme).apply_to(experiment)


@pytest.fixture(scope="module")
def _busy() -> Iterator[None]:
    """Take processor time beside the runs."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield
        process.kill()


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("scheme", [*SCHEMES.values(), *(f"kernel:{line}" for line in KERNELS)])
def test_a_run_is_the_same_to_the_byte(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = with_each_control(scheme)
    first = lab.run(experiment, out=tmp_path / "first")
    # DCTCP without ECN would be counted as dctcp-reno.
    assert set(first.metadata["kernel"]["measured"]["ends_by_congestion"]) == set(CONTROLS)
    elsewhere = tmp_path / "elsewhere" / "with a longer path"
    elsewhere.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("AQMLAB_FILLER", "x" * 20_000)
    assert tables(first) == tables(lab.run(experiment, out=elsewhere))
