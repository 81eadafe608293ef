"""Loads of a fixed page by the model and by programs, over the same link."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import aqmlab as lab
from aqmlab.live.run import run_command
from judges.page import Page, write_certificate

_HERE = Path(__file__).parent

_BLOCKING = ("html", "css", "script")

_QUEUES: dict[str, dict[str, Any]] = {"droptail:limit=100": {"droptail": {"limit": 100}}, "fq_codel": {"fq_codel": {}}}


@dataclass(frozen=True)
class Link:
    """A link of 10 Mbit/s, and the traffic beside the page."""

    queue: str
    rtt_ms: int
    download: bool = False

    def experiment(self, users: Mapping[str, Any], duration_s: float, **keys: Any) -> lab.Experiment:
        """Return the experiment of a program or of a user over this link."""
        rtt = {"source": "a fixed page", "distribution": {"uniform_ms": {"min": self.rtt_ms, "max": self.rtt_ms}}}
        bulk = {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}, "spread": "0 s"}}
        return lab.Experiment.model_validate(
            {
                "link": {"rate": "10 Mbit/s", "device_fifo": 0},
                "queue": _QUEUES[self.queue],
                "users": {"rtt": rtt, **users},
                "tcp": {"profile": "linux-6"},
                "sources": [bulk] if self.download else [],
                "protocol": {"warmup": "10 s" if self.download else "0 s", "duration": f"{duration_s:g} s"},
                **keys,
            }
        )


@dataclass(frozen=True)
class Load:
    """The load of a page: all times are seconds from its start."""

    load_s: float
    ends_s: Mapping[str, Sequence[float]]
    """The ends of the resources of each kind."""

    def measures(self) -> dict[str, float]:
        """Return the page load time, the time of the first render, and the mean end of each kind."""
        first_render = max(max(self.ends_s[kind]) for kind in _BLOCKING)
        means = {kind: statistics.fmean(ends) for kind, ends in self.ends_s.items()}
        return {"page load": self.load_s, "first render": first_render, **means}


def model_loads(page: Page, link: Link, seed: int, *, loads: int, think_s: float, **keys: Any) -> list[Load]:
    """Return loads by the model; there are at least ``loads`` of them where a load takes 10 s at most."""
    users = {"per_side": 1, "sides": 1, "workload": page.workload(think_s)}
    experiment = link.experiment(users, loads * (think_s + 10), record={"exchanges": True}, **keys)
    with tempfile.TemporaryDirectory() as directory:
        table = lab.run(experiment, seed=seed, out=directory).exchanges.filter(pl.col("source") == 0)
    documents = table.filter("top_level")["start_s"].sort()
    found = []
    for start, end in zip(documents, [*documents[1:], float("inf")], strict=True):
        of_page = table.filter(pl.col("start_s").is_between(start, end, closed="left"))
        if of_page.height != len(list(page.resources())):
            continue  # The window has begun or ended meanwhile.
        ends: dict[str, list[float]] = {}
        columns = of_page.select("response_bytes", pl.col("start_s") + pl.col("response_time_ms") / 1e3 - start)
        for size, end_s in columns.iter_rows():
            ends.setdefault(page.kind_of_size(size), []).append(end_s)
        found.append(Load(max(max(times) for times in ends.values()), ends))
    return found[:loads]


def http2_loads(
    page: Page, link: Link, seed: int, *, loads: int, think_s: float, pcap: Path | None = None
) -> list[Load]:
    """Return loads by nghttp from nghttpd."""
    with tempfile.TemporaryDirectory() as name:
        site = Path(name)
        page.write_site(site / "files")
        write_certificate(site, names=_TLS_NAMES)
        # nghttpd takes P-256 alone: without this nghttp offers another group first, and loses a round trip.
        (site / "openssl.cnf").write_text(_OPENSSL, encoding="ascii")
        client = [sys.executable, str(_HERE / "browse_http2.py"), str(loads), str(think_s), str(seed)]
        return _program_loads(
            page,
            link,
            seed,
            client=[*client, str(site / "openssl.cnf")],
            server=["sh", str(_HERE / "serve_http2.sh"), str(site)],
            seconds=loads * (think_s + 30),
            pcap=pcap,
        )


_TLS_NAMES = 88
"""Names in the certificate: the server's flight of TLS has the 3,000 bytes of web-2024."""

_OPENSSL = """
openssl_conf = init
[init]
ssl_conf = ssl
[ssl]
system_default = defaults
[defaults]
Groups = P-256
"""


def _program_loads(
    page: Page, link: Link, seed: int, *, client: list[str], server: list[str], seconds: float, pcap: Path | None
) -> list[Load]:
    experiment = link.experiment({"per_side": 0}, seconds, world="kernel")
    capture = None if pcap is None else lab.Pcap(file=pcap)
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile("w+") as output:
        _, code = run_command(
            experiment, client, server=server, seed=seed, out=out, pcap=capture, output=output.fileno()
        )
        output.seek(0)
        text = output.read()
    if code != 0:
        raise RuntimeError(f"the client ended with exit code {code}:\n{text}")
    kinds = {name: kind for name, kind, _ in page.resources()}
    found = []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        times: dict[str, float] = json.loads(line)
        load_s = times.pop("load")
        ends: dict[str, list[float]] = {}
        for name, end_s in times.items():
            ends.setdefault(kinds[name], []).append(end_s)
        found.append(Load(load_s, ends))
    return found
