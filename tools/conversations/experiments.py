"""The conversations: experiments of one flow each, which show one mechanism of TCP after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aqmlab import data_file
from aqmlab.spec.experiment import Experiment


@dataclass(frozen=True)
class Talk:
    """An upload by one flow over 10 Mbit/s and a base round-trip time of 20 ms, and its changes."""

    name: str
    shows: str
    bytes: str = "1 MB"
    drop: str = ""
    mark: str = ""
    drop_back: str = ""
    rtt: str = "10 ms"
    link: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] | None = None
    duration: str = "10 s"

    def experiment(self) -> Experiment:
        """Return the experiment."""
        upload = {
            "bulk": {
                "flows": 1,
                "direction": "upload",
                "bytes": self.bytes,
                "start": "100 ms",
                "spread": "0 s",
                "rtt": {"fixed": self.rtt},
            }
        }
        return Experiment(
            link={"rate": "10 Mbit/s", "delay": "5 ms", "device_fifo": 0, **self.link},
            queue={"scripted": {"drop": self.drop, "mark": self.mark}},
            queue_back={"scripted": {"drop": self.drop_back}},
            tcp=dict(self.tcp),
            users={"per_side": 0},
            sources=[self.source or upload],
            protocol={"warmup": "0 s", "duration": self.duration},
        )


TALKS = data_file.read(Path(__file__).with_name("talks.toml"), dict[str, tuple[Talk, ...]])["talk"]
"""The conversations, in the order of the page."""
