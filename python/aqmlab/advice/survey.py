"""The map: the package's survey of all candidates on many links, and its links near a given one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from aqmlab._core import SpecError
from aqmlab.advice.access_link import AccessLink, users_who_fill
from aqmlab.campaigns.axes import Span
from aqmlab.metrics.numbers import NUMBERS

FILE = "survey.parquet"
PROVENANCE = b"advice"
"""The key of the provenance in the file's metadata."""

SPACE: Mapping[str, Span] = {
    "down, Mbit/s": Span(start=2, to=1000, scale="log"),
    "down / up": Span(start=1, to=40, scale="log"),
    "rtt, ms": Span(start=5, to=200, scale="log"),
    "load, %": Span(start=5, to=110, scale="log"),
    "1 + downloads": Span(start=1, to=17, scale="log", whole=True),
    "1 + uploads": Span(start=1, to=5, scale="log", whole=True),
}
"""The dimensions of the map, each scaled to the same length; ``rtt`` is the mean. All are logarithmic: from no transfer
to one is the same step as from one to three. The ranges are ours, access links from ADSL to fibre."""

MEASURES = ("mean", "p50", "p90", "p95", "p99", "delay", "delay p99", "loss", "bulk")
"""The measures of each point: those of :data:`aqmlab.metrics.numbers.NUMBERS`, over both directions together,
and ``bulk``, the goodput of the long transfers in Mbit/s, null without any."""

LOAD = "load, %"
"""The only dimension that may be below the map's range: the smallest load is already that of very few users."""

NEIGHBOURS = 16
"""The number of map links that count as near a link. Ours: from 2 to 32 it hardly changes the advice, see
docs/guide/advice.md; on eight links, candidates whose means differ tenfold could not be distinguished."""


def coordinates(link: AccessLink) -> dict[str, float]:
    """Return the coordinates of a link on the map.

    Raises
    ------
    SpecError
        When the link is outside of the map.
    """
    numbers = {
        "down, Mbit/s": link.down_mbps,
        "down / up": link.down_mbps / link.up_mbps,
        "rtt, ms": link.rtt_mean_ms,
        LOAD: max(link.load_percent, SPACE[LOAD].start),
        "1 + downloads": 1.0 + link.downloads,
        "1 + uploads": 1.0 + link.uploads,
    }
    for name, number in numbers.items():
        span = SPACE[name]
        if span.share_of(number) is None:
            bounds = f"{name} from {span.start:g} to {span.to:g}"
            raise SpecError(f"link: the map covers {bounds}, got {number:g}")
    return numbers


def link_at(point: Mapping[str, Any], *, ecn: bool) -> AccessLink:
    """Return the link at a point of the map; its round-trip times are from half of the mean to one and a half."""
    down, rtt = point["down, Mbit/s"], point["rtt, ms"]
    up = down / point["down / up"]
    return AccessLink(
        down=f"{down:.6g} Mbit/s",
        up=f"{up:.6g} Mbit/s",
        rtt=f"{max(1, round(rtt / 2))}..{round(1.5 * rtt)} ms",
        users=max(1, round(point[LOAD] / 100 * users_who_fill(down, up))),
        downloads=point["1 + downloads"] - 1,
        uploads=point["1 + uploads"] - 1,
        ecn=ecn,
    )


def measure_values(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the map's measures of a run."""
    bulk = sum(source["goodput_mbps"] for source in summary["sources"]) if summary["sources"] else None
    return {**{name: NUMBERS[name].read(summary) for name in MEASURES if name != "bulk"}, "bulk": bulk}


@dataclass(frozen=True)
class Survey:
    """The survey: a row for each link, with and without ECN, and candidate."""

    rows: pl.DataFrame
    """The columns of :data:`SPACE`, ``ecn``, ``candidate``, and :data:`MEASURES`."""
    provenance: Mapping[str, Any]
    """Its provenance: the results number (``results``), the engine's version, the ``points`` and the ``command``."""

    def nearest_links(self, link: AccessLink, number: int = NEIGHBOURS) -> pl.DataFrame:
        """Return the rows of the links nearest to one, ``link`` their number, the nearest first.

        Raises
        ------
        SpecError
            When the link is outside of the map.
        """
        target = _shares(coordinates(link))
        same_ecn = self.rows.filter(pl.col("ecn") == link.ecn)
        links = same_ecn.select(SPACE.keys()).unique(maintain_order=True)
        positions = np.array([_shares(row) for row in links.iter_rows(named=True)])
        nearest = np.argsort(np.linalg.norm(positions - target, axis=1), kind="stable")[:number]
        selected = links[nearest].with_row_index("link")
        return selected.join(same_ecn, on=list(SPACE), how="left", maintain_order="left")


@cache
def load_survey() -> Survey:
    """Return the map of the package."""
    content = (resources.files(__package__) / FILE).read_bytes()
    table = pq.read_table(BytesIO(content))
    rows = pl.from_arrow(table)
    assert isinstance(rows, pl.DataFrame), "a table is a frame"
    return Survey(rows, json.loads(table.schema.metadata[PROVENANCE]))


def _shares(numbers: Mapping[str, float]) -> NDArray[np.float64]:
    return np.array([span.share_of(numbers[name]) for name, span in SPACE.items()], dtype=float)
