"""Modules with custom laws, for the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

STEP = '''
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

import aqmlab as lab


class Step(lab.Law):
    """Signals every packet that finds a threshold of packets waiting."""

    @dataclass
    class Config:
        threshold: Annotated[int, Field(ge=1), "packets", "From here on."] = 20
        name: str = "step"

    def on_enqueue(self, packet, queue, now):
        return "mark" if queue.packets >= self.config.threshold else "pass"
'''


def law(body: str, head: str = "") -> str:
    """Return a module with a law of this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import aqmlab as lab\n{head}\nclass MyLaw(lab.Law):\n{lines}"


def importable(source: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a module into a test's own directory, where this process and those that it starts find it; its name."""
    # Of this test alone: what has been imported once is not read again.
    name = f"laws_{directory.name.replace('-', '_')}"
    (directory / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(directory)
    return name
