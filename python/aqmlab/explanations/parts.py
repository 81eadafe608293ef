"""The parts of a wait, and their means over waits around each quantile."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass

import polars as pl

PARTS = {
    "handshake": "handshake",
    "syn_timeouts": "SYN timeouts",
    "tls_handshake": "TLS handshake",
    "request_round_trip": "request's round trip",
    "further_round_trips": "further round trips",
    "recovery": "loss recovery",
    "data_timeouts": "data timeouts",
    "reordering": "reordering timers",
    "probes": "tail-loss probes",
    "pacing": "pacing",
    "delayed_acks": "delayed ACKs",
    "queueing": "queueing",
    "transmission": "transmission",
    "interface": "server's interface",
    "application": "application's pauses",
}
"""The parts of a response time or page load time: the engine's columns, with their names in output."""

QUANTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
"""The quantiles whose waits are explained, besides all waits."""

HALF_BAND = 0.005
"""Half of the width of the band of waits around a quantile."""


@dataclass(frozen=True)
class Wait:
    """A kind of wait: for the response to a request, or for a page."""

    singular: str
    """The column of its number, and its name in output."""
    plural: str
    """The column of a number of waits, and their name in output."""
    table: str
    """The engine's table of such waits."""
    time: str
    """The column of its time, without its unit."""
    name: str
    """The name of its time in output."""

    @staticmethod
    def of(columns: Container[str]) -> Wait:
        """Return the kind of wait of a table with these columns: of waits, or of bands of waits."""
        return PAGES if f"{PAGES.time}_ns" in columns or f"{PAGES.time}_ms" in columns else REQUESTS


REQUESTS = Wait("request", "requests", "explanations", "response_time", "response time")
PAGES = Wait("page", "pages", "explained_pages", "load", "page load time")


def by_band(waits: pl.DataFrame) -> pl.DataFrame:
    """Return the mean response time or page load time by cause, over all waits and over those around each quantile.

    A band extends half a percentile point to either side of its quantile, and has at least one wait.

    Parameters
    ----------
    waits
        The requests or pages of a :class:`aqmlab.Explanation`.

    Returns
    -------
    polars.DataFrame
        ``band``, ``requests``, ``response_time_ms``, and the parts in milliseconds under their names; of pages
        ``pages`` and ``load_ms``.
    """
    wait = Wait.of(waits.columns)
    ranked = waits.sort(f"{wait.time}_ns", wait.singular)
    bands = {"mean": ranked}
    for name, quantile in QUANTILES.items():
        low = min(math.floor((quantile - HALF_BAND) * ranked.height), ranked.height - 1)
        high = math.ceil((quantile + HALF_BAND) * ranked.height)
        bands[name] = ranked[low : max(high, low + 1)]
    mean_ms = [
        (pl.col(column).mean() * 1e-6).alias(name)
        for column, name in {f"{wait.time}_ns": f"{wait.time}_ms", **{part: part for part in PARTS}}.items()
    ]
    means = [
        band.select(pl.lit(name).alias("band"), pl.len().alias(wait.plural), *mean_ms) for name, band in bands.items()
    ]
    return pl.concat(means)
