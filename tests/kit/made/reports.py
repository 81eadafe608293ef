"""A results directory for reports, and a report's page taken apart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import aqmlab as lab

SCHEMES = ("droptail:limit=20", "pie:ecn=true", "codel")
HOSTILE = "<script>alert(1)</script>\"'&\u202e\u2028</style>"
LONG = "x" * 10_000


def experiment(**parts: Any) -> lab.Experiment:
    return lab.Experiment(
        **{
            "testbed": "unc-2003",
            "link": {"rate": "10 Mbit/s"},
            "users": {"per_side": 1200},
            "protocol": {"warmup": "2 s", "duration": "10 s"},
            **parts,
        }
    )


def store(folder: Path) -> Path:
    """Two other comparisons, and then one of three schemes with three seeds: the newest."""
    lab.compare("codel", experiment=experiment(users={"per_side": 50}), seeds=[1], baseline=False, out=folder)
    shorter = experiment(protocol={"warmup": "2 s", "duration": "3 s"})
    lab.compare("codel", experiment=shorter, seeds=[4], out=folder)
    lab.compare(*SCHEMES, experiment=experiment(), seeds=[1, 2, 3], out=folder, workers=1)
    return folder


class Page(HTMLParser):
    """A page as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.whole = text
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "script":
            self.scripts[-1] += data
        elif self._within != "style":
            self.text += data

    @property
    def policy(self) -> dict[str, list[str]]:
        (policy,) = (attrs["content"] for _, attrs in self.tags if attrs.get("http-equiv") == "Content-Security-Policy")
        assert policy is not None
        return {name: values for name, *values in (part.split() for part in policy.split(";"))}

    @property
    def data(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.scripts[0])
        return read
