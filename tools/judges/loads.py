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
from judges.links import Link, run_programs
from judges.page import Page, write_certificate

_HERE = Path(__file__).parent

_BLOCKING = ("html", "css", "script")


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


def model_loads(
    page: Page, link: Link, seed: int, *, loads: int, think_s: float, congestion: str = "cubic"
) -> list[Load]:
    """Return loads by the model; there are at least ``loads`` of them where a load takes 10 s at most."""
    users = {"per_side": 1, "sides": 1, "workload": page.workload(think_s)}
    experiment = link.experiment(loads * (think_s + 10), users=users, congestion=congestion)
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
    page: Page,
    link: Link,
    seed: int,
    *,
    loads: int,
    think_s: float,
    congestion: str = "cubic",
    pcap: Path | None = None,
) -> list[Load]:
    """Return loads by nghttp from nghttpd."""
    with tempfile.TemporaryDirectory() as name:
        site = Path(name)
        page.write_site(site / "files")
        write_certificate(site, names=_TLS_NAMES)
        # nghttpd takes P-256 alone: without this nghttp offers another group first, and loses a round trip.
        (site / "openssl.cnf").write_text(_OPENSSL, encoding="ascii")
        client = [sys.executable, str(_HERE / "browse_http2.py"), str(loads), str(think_s), str(seed)]
        client.append(str(site / "openssl.cnf"))
        server = ["sh", str(_HERE / "serve_http2.sh"), str(site)]
        seconds = loads * (think_s + 30)
        options = {"client": client, "server": server}
        return _loads(page, run_programs(link, seed, seconds, **options, congestion=congestion, pcap=pcap))


_TLS_NAMES = 88
"""Names in the certificate: the server's flight of TLS has 2,942 bytes, and that of web-2024 3,000."""

_OPENSSL = """
openssl_conf = init
[init]
ssl_conf = ssl
[ssl]
system_default = defaults
[defaults]
Groups = P-256
"""


def _loads(page: Page, lines: list[dict[str, Any]]) -> list[Load]:
    """Return the loads that a program has written."""
    kinds = {name: kind for name, kind, _ in page.resources()}
    found = []
    for times in lines:
        ends: dict[str, list[float]] = {}
        for name, kind in kinds.items():
            ends.setdefault(kind, []).append(times[name])
        found.append(Load(times["load"], ends))
    return found


def http3_loads(
    page: Page, link: Link, seed: int, *, loads: int, think_s: float, pcap: Path | None = None
) -> list[Load]:
    """Return loads by aioquic at both ends."""
    with tempfile.TemporaryDirectory() as name:
        site = Path(name)
        page.write_site(site / "files")
        write_certificate(site, names=_QUIC_NAMES)
        client = [sys.executable, str(_HERE / "browse_http3.py"), str(loads), str(think_s), str(seed)]
        client.append(json.dumps(page.references(4433, 4434)))
        server = [sys.executable, str(_HERE / "serve_http3.py"), str(site), "4433", "4434"]
        return _loads(page, run_programs(link, seed, loads * (think_s + 30), client=client, server=server, pcap=pcap))


_QUIC_NAMES = 55
"""Names in the certificate: it has 1,736 bytes, and that of the profile ``quic`` 2,000."""
