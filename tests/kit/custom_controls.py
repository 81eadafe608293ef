"""Modules with custom congestion controls, for the tests, and an experiment for them."""

from __future__ import annotations

from typing import Any

import aqmlab as lab

FIXED = '''
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

import aqmlab as lab


class Fixed(lab.CongestionControl):
    """Keeps a window."""

    @dataclass
    class Config:
        segments: Annotated[int, Field(ge=1), "segments", "The window."] = 20
        pacing_mbps: Annotated[float | None, "Mbit/s", "The pacing rate."] = None

    def __init__(self, config, connection):
        super().__init__(config, connection)
        self.cwnd = config.segments * (connection.mss - 12)
        self.pacing_rate_bps = config.pacing_mbps and 1e6 * config.pacing_mbps

    def on_ack(self, ack):
        pass

    def on_loss(self, window, mss):
        pass

    def on_rto(self, window, mss):
        pass
'''


def control(body: str, head: str = "") -> str:
    """Return a module with a control of this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import aqmlab as lab\n{head}\nclass MyControl(lab.CongestionControl):\n{lines}"


def bulk(
    congestion: str | type[lab.CongestionControl],
    *,
    link: dict[str, Any] | None = None,
    queue: dict[str, Any] | None = None,
    sources: tuple[str, ...] = ("a",),
    **tcp: Any,
) -> lab.Experiment:
    """Return ten seconds of long downloads over 40 ms, whose flows are recorded."""
    return lab.Experiment(
        link=link or {"rate": "10 Mbit/s", "delay": "10 ms"},
        queue=queue or {"droptail": {"limit": 30}},
        tcp={"congestion": congestion, **tcp},
        sources=[{"bulk": {"name": name, "flows": 2, "side": 0, "rtt": {"fixed": "40 ms"}}} for name in sources],
        protocol={"warmup": "1 s", "duration": "10 s"},
        record={"flows": "20 ms"},
    )
