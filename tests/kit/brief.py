"""Experiments as they are printed, but over in seconds: for tests that run what the documents show.

As a program it is ``aqmlab`` whose experiments are cut, or, given a Python file, what runs that file so.
"""

from __future__ import annotations

import runpy
import sys

from aqmlab._core import seconds
from aqmlab.cli import main as cli
from aqmlab.spec.experiment import Experiment, Protocol

WARMUP, DURATION = "1 s", "10 s"
"""The longest warm-up and the longest measurement window."""

_to_json = Experiment.to_json


def to_json(experiment: Experiment) -> str:
    """Return what the engine reads, through which every experiment passes, cut."""
    protocol = experiment.protocol
    cut = Protocol(
        warmup=min(protocol.warmup, WARMUP, key=seconds), duration=min(protocol.duration, DURATION, key=seconds)
    )
    return _to_json(experiment.model_copy(update={"protocol": cut}))


def main() -> None:
    """Be that program."""
    Experiment.to_json = to_json  # type: ignore[method-assign, assignment]
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        runpy.run_path(sys.argv[1], run_name="__main__")
    else:
        cli.main()


if __name__ == "__main__":
    main()
