"""A custom law that never returns is ended by an interrupt, and named."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Write

ENDLESS = """
from pathlib import Path

import aqmlab as lab


class Endless(lab.Law):
    def on_enqueue(self, packet, queue, now):
        Path("reached").touch()
        while True:
            try:
                {body}
            except Exception:
                pass
"""

SCRIPT = """
import aqmlab as lab
experiment = lab.Experiment(users={"per_side": 20}, protocol={"warmup": "1 s", "duration": "2 s"})
lab.compare("droptail", "my_module:Endless", experiment=experiment, seeds=[1], workers=2)
"""

COMPARE = ["compare", "--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1", "--workers", "2"]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("body", ["pass", "sum(range(1000))"])
def test_an_interrupt_ends_and_names_a_law_that_never_returns(write: Write, by: signal.Signals, body: str) -> None:
    module = write(ENDLESS.format(body=body))
    code, err = _interrupted(
        [sys.executable, "-m", "aqmlab", *COMPARE, "droptail", "my_module:Endless"], module.parent / "reached", by
    )
    assert code == 130
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if "Endless" in line and "does not return" in line]
    assert "my_module.py:1" in line, "the file, and a line of the loop"
    assert "Endless.on_enqueue" in line
    cells = module.parent / "results" / "cells"
    assert len(list(cells.iterdir())) <= 2, "those that were done, and no half cell"
    assert all((cell / "summary.parquet").is_file() for cell in cells.iterdir())


def test_python_hears_of_it_in_a_note_of_the_interrupt(write: Write) -> None:
    module = write(ENDLESS.format(body="pass"))
    code, err = _interrupted([sys.executable, "-c", SCRIPT], module.parent / "reached", signal.SIGINT)
    assert code != 0
    assert err.splitlines()[-2:][0].endswith("KeyboardInterrupt")
    assert "Endless.on_enqueue does not return" in err.splitlines()[-1]


def _interrupted(command: list[str], reached: Path, by: signal.Signals) -> tuple[int, str]:
    """Run a command in the current directory and interrupt it when there is that file."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(by)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, err
