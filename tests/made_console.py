"""A results directory for the console, and the console on it as a program of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import aqmlab as lab
from aqmlab.running.cell import cells_of
from aqmlab.running.store import Store
from aqmlab.running.sweep import sweep

HOSTILE = "<script>alert(1)</script>\"'&\u202e"


def store(folder: Path) -> Path:
    """Make two cells of one scheme, two of another, and one whose name is not to be believed."""
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"}, users={"per_side": 100}, protocol={"warmup": "1 s", "duration": "5 s"}
    )
    lab.compare("droptail:limit=20", "codel", experiment=experiment, seeds=[1, 2], baseline=False, out=folder)
    cells = cells_of(experiment.model_copy(update={"queue": lab.QueueSpec.model_validate({"pie": {}})}), [1])
    sweep([replace(cell, label=HOSTILE) for cell in cells], Store(folder))
    return folder


@contextmanager
def console(out: Path) -> Iterator[str]:
    """Serve a results directory; the address that is printed."""
    words = [sys.executable, "-m", "aqmlab", "console", str(out)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            yield program.stdout.readline().removeprefix("Open ").strip()
        finally:
            program.send_signal(signal.SIGINT)
            program.wait(timeout=20)
