"""Short runs: aqmlab with experiments cut to seconds, for tests that run the documents' examples.

Run as a program it is ``aqmlab`` with that cut; given a Python file, it runs the file with that cut.
"""

from __future__ import annotations

import runpy
import sys

from aqmlab._core import seconds
from aqmlab.cli import main as cli
from aqmlab.spec.experiment import Experiment, Protocol

WARMUP, DURATION = "1 s", "4 s"
"""The longest warm-up and the longest measurement window."""

_to_json = Experiment.to_json


def to_json(experiment: Experiment) -> str:
    """Return the cut experiment as JSON; every experiment passes to the engine through this method."""
    protocol = experiment.protocol
    cut = Protocol(
        warmup=min(protocol.warmup, WARMUP, key=seconds), duration=min(protocol.duration, DURATION, key=seconds)
    )
    return _to_json(experiment.model_copy(update={"protocol": cut}))


def main() -> None:
    """Run aqmlab, or a Python file, with short experiments."""
    Experiment.to_json = to_json  # type: ignore[method-assign, assignment]
    if sys.argv[1:] and sys.argv[1].endswith(".py"):
        runpy.run_path(sys.argv[1], run_name="__main__")
    else:
        cli.main()


if __name__ == "__main__":
    main()
