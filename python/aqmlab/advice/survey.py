"""The map: the package's survey of all candidates on many links, and its links near a given one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from aqmlab._core import SpecError, bits_per_second
from aqmlab.advice.access_link import AccessLink, users_who_fill
from aqmlab.campaigns.axes import Span
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.spec.capacity import link_presets, rates

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

KINDS: Mapping[str, str] = {
    "cable": "docsis-3.1 200/20",
    "token_bucket": "gpon 200/50",
    "wifi": "wifi-ac busy",
    "cellular": "lte",
    "leo": "starlink",
}
"""The kinds of capacity of the map besides ``constant``, with the preset of their links."""

KIND_SPACE: Mapping[str, Span] = {
    "rates of the preset": Span(start=0.2, to=2, scale="log"),
    **{name: span for name, span in SPACE.items() if not name.startswith("down")},
}
"""The dimensions of the links of these kinds: those of :data:`SPACE`, but one factor for both rates of the preset.
Such links have no ECN. The range is ours."""

KIND_LINKS = 8
"""The number of the map's links of each of these kinds, all of which count as near a link of the kind. Ours, for their
time."""

MEASURES = ("mean", "p50", "p90", "p95", "p99", "delay", "delay p99", "loss", "bulk")
"""The measures of each point: those of :data:`aqmlab.metrics.numbers.NUMBERS`, over both directions together,
and ``bulk``, the goodput of the long transfers in Mbit/s, null without any."""

LOAD = "load, %"
"""The only dimension that may be below the map's range: the smallest load is already that of very few users."""

NEIGHBOURS = 16
"""The number of map links that count as near a link. Ours: from 2 to 32 it hardly changes the advice, see
docs/guide/advice.md; on eight links, candidates whose means differ tenfold could not be distinguished."""


def position(link: AccessLink) -> dict[str, float]:
    """Return the numbers of a link in the dimensions of the map."""
    return {
        "down, Mbit/s": link.down_mbps,
        "down / up": link.down_mbps / link.up_mbps,
        "rtt, ms": link.rtt_mean_ms,
        LOAD: max(link.load_percent, SPACE[LOAD].start),
        "1 + downloads": 1 + link.downloads,
        "1 + uploads": 1 + link.uploads,
    }


def coordinates(link: AccessLink) -> dict[str, float]:
    """Return the coordinates of a link on the map.

    Raises
    ------
    SpecError
        When the link is outside of the map.
    """
    numbers = position(link)
    for name, number in numbers.items():
        span = SPACE[name]
        if span.share_of(number) is None:
            bounds = f"{name} from {span.start:g} to {span.to:g}"
            raise SpecError(f"link: the map covers {bounds}, got {number:g}")
    return numbers


def link_at(point: Mapping[str, Any], *, ecn: bool) -> AccessLink:
    """Return the link at a point of the map; its round-trip times are from half of the mean to one and a half."""
    down = point["down, Mbit/s"]
    up = down / point["down / up"]
    return _with_users(AccessLink(down=f"{down:.6g} Mbit/s", up=f"{up:.6g} Mbit/s", rtt="1 ms", ecn=ecn), point)


def link_of_kind(kind: str, point: Mapping[str, Any]) -> AccessLink:
    """Return the link of one of :data:`KINDS` at a point of :data:`KIND_SPACE`."""
    preset, plan = link_presets.find(KINDS[kind], "link.preset")
    table = preset.filled(plan)

    def scaled(rate: Mapping[str, Any]) -> dict[str, Any]:
        ((name, values),) = rate.items()
        return {name: {**values, "rate": f"{point['rates of the preset'] * bits_per_second(values['rate']):.0f} bit/s"}}

    up, down = map(scaled, rates.both(table["rate"]))
    return _with_users(AccessLink(link={**table, "rate": {"up": up, "down": down}}, rtt="1 ms"), point)


def _with_users(link: AccessLink, point: Mapping[str, Any]) -> AccessLink:
    """Return a link with the round-trip times, the users and the transfers of a point."""
    rtt = point["rtt, ms"]
    return replace(
        link,
        rtt=f"{max(1, round(rtt / 2))}..{round(1.5 * rtt)} ms",
        users=max(1, round(point[LOAD] / 100 * users_who_fill(link.down_mbps, link.up_mbps))),
        downloads=point["1 + downloads"] - 1,
        uploads=point["1 + uploads"] - 1,
    )


def measure_values(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the map's measures of a run."""
    bulk = sum(source["goodput_mbps"] for source in summary["sources"]) if summary["sources"] else None
    return {**{name: NUMBERS[name].read(summary) for name in MEASURES if name != "bulk"}, "bulk": bulk}


@dataclass(frozen=True)
class Survey:
    """The survey: a row for each link, with and without ECN, and candidate."""

    rows: pl.DataFrame
    """The columns of :data:`SPACE`, ``kind``, ``ecn``, ``candidate``, and :data:`MEASURES`."""
    provenance: Mapping[str, Mapping[str, Any]]
    """The provenance of each kind: the results number (``results``), the engine's version, the ``points`` of constant
    links and the ``command``."""

    def nearest_links(self, link: AccessLink, number: int = NEIGHBOURS) -> pl.DataFrame:
        """Return the rows of the links of the same kind nearest to one, ``link`` their number, the nearest first.

        Raises
        ------
        SpecError
            When the link is outside of the map.
        """
        target = _shares(coordinates(link))
        alike = self.rows.filter(pl.col("kind") == link.kind, pl.col("ecn") == link.ecn)
        if alike.is_empty():
            ecn = " with ECN" if link.ecn else ""
            raise SpecError(f"link: the map has no links{ecn} of kind {link.kind or 'mixed'}")
        links = alike.select(SPACE.keys()).unique(maintain_order=True)
        positions = np.array([_shares(row) for row in links.iter_rows(named=True)])
        nearest = np.argsort(np.linalg.norm(positions - target, axis=1), kind="stable")[:number]
        selected = links[nearest].with_row_index("link")
        return selected.join(alike, on=list(SPACE), how="left", maintain_order="left")


@cache
def load_survey() -> Survey:
    """Return the map of the package."""
    return read_survey((resources.files(__package__) / FILE).read_bytes())


def read_survey(content: bytes) -> Survey:
    """Return the map of a file with this content."""
    table = pq.read_table(BytesIO(content))
    rows = pl.from_arrow(table)
    assert isinstance(rows, pl.DataFrame), "a table is a frame"
    return Survey(rows, json.loads(table.schema.metadata[PROVENANCE]))


def _shares(numbers: Mapping[str, float]) -> NDArray[np.float64]:
    # Links of a kind in the map may be beyond the bounds of its dimensions, where they count as at the bounds.
    bounded = {name: min(max(numbers[name], span.start), span.to) for name, span in SPACE.items()}
    return np.array([span.share_of(bounded[name]) for name, span in SPACE.items()], dtype=float)
