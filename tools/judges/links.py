"""Links of 10 Mbit/s, and programs over them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aqmlab as lab
from aqmlab.live.run import run_command

_QUEUES: dict[str, dict[str, Any]] = {"droptail:limit=100": {"droptail": {"limit": 100}}, "fq_codel": {"fq_codel": {}}}


_DOWNLOAD = {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}, "spread": "0 s"}}

_NO_USERS = {"per_side": 0}


@dataclass(frozen=True)
class Link:
    """A link of 10 Mbit/s, and the traffic beside a page or a video."""

    queue: str
    rtt_ms: int
    download: bool = False

    @property
    def start_s(self) -> float:
        """The start of the measurement: a download has come out of slow start."""
        return 10.0 if self.download else 0.0

    def experiment(
        self,
        duration_s: float,
        *,
        users: Mapping[str, Any] = _NO_USERS,
        sources: Sequence[Mapping[str, Any]] = (),
        world: str = "simulated",
        congestion: str = "cubic",
    ) -> lab.Experiment:
        """Return an experiment over this link."""
        rtt = {
            "source": "a fixed round-trip time",
            "distribution": {"uniform_ms": {"min": self.rtt_ms, "max": self.rtt_ms}},
        }
        return lab.Experiment.model_validate(
            {
                "link": {"rate": "10 Mbit/s", "device_fifo": 0},
                "queue": _QUEUES[self.queue],
                "users": {"rtt": rtt, **users},
                "tcp": {"profile": "linux-6", "congestion": congestion},
                "sources": [*([_DOWNLOAD] if self.download else []), *sources],
                "protocol": {"warmup": f"{self.start_s:g} s", "duration": f"{duration_s:g} s"},
                "record": {"exchanges": world == "simulated"},
                "world": world,
            }
        )


def run_programs(
    link: Link,
    seed: int,
    seconds: float,
    *,
    client: list[str],
    server: list[str],
    congestion: str = "cubic",
    pcap: Path | None = None,
) -> list[dict[str, Any]]:
    """Run a client and its server in the kernel's world; return the lines of JSON that the client writes."""
    capture = None if pcap is None else lab.Pcap(file=pcap)
    experiment = link.experiment(seconds, world="kernel", congestion=congestion)
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile("w+") as output:
        _, code = run_command(
            experiment, client, server=server, seed=seed, out=out, pcap=capture, output=output.fileno()
        )
        output.seek(0)
        text = output.read()
    if code != 0:
        raise RuntimeError(f"{client}: ended with exit code {code}:\n{text}")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
