"""Measures of one result for Kwon and Fahmy's claims and tables."""

from __future__ import annotations

import math
from functools import cache

import polars as pl

from aqmlab._core import seconds
from aqmlab.store.result import Result
from aqmlab.studies.kit.measures import DATA, of_data, sources
from aqmlab.studies.kwon2003.runs import ACCESS_S, PACKET, SEGMENT

BUFFER_KB = 120.0
PACKET_KB = PACKET / 1000
_DROPS = ("dropped_early", "dropped_forced", "dropped_by_limit", "dropped_at_dequeue", "evicted")

HTTP, UDP, FTP = "http", "udp", "ftp"
"""Prefixes of the names of sources, by class of traffic."""

SESSION_PAGES = 5
"""Pages of a session, which the paper does not print: as in that script of ns-2's examples that has the times and sizes
of the large one. The large one has 250, which at 15 s each no run of 900 s ends. Fixed before sessions were measured.
"""


@cache
def session_times_s(result: Result, pages: int = SESSION_PAGES) -> pl.Series:
    """Return the duration of each session in seconds, from its first request until its last page has arrived.

    A client's pages make consecutive sessions. Sessions that were incomplete at the end are excluded.
    """
    names = [each["name"] for each in result.summary["sources"]]
    clients = [number for number, name in enumerate(names, 1) if name.startswith(HTTP)]
    start, end = pl.col("start_s"), pl.col("start_s") + pl.col("response_time_ms") / 1000
    return (
        result.exchanges.filter(pl.col("source").is_in(clients))
        .sort("source", "start_s")
        .with_columns(session=pl.int_range(pl.len()).over("source") // pages)
        .group_by("source", "session", maintain_order=True)
        .agg(time_s=end.max() - start.min(), pages=pl.len())
        .filter(pl.col("pages") == pages)["time_s"]
    )


def session_s(result: Result, pages: int = SESSION_PAGES) -> float:
    """Return the mean response time of the sessions, in seconds; NaN without any."""
    return _mean(session_times_s(result, pages))


def longest_session_s(result: Result) -> float:
    """Return the longest response time of a session, in seconds; NaN without any."""
    longest = session_times_s(result).max()
    return math.nan if longest is None else float(longest)  # type: ignore[arg-type]


def delivered_mbps(result: Result, kind: str = "") -> float:
    """Return the goodput of the sources whose names begin with ``kind``, in Mbit/s as ns-2 counts it.

    ns-2's segments are as long as our packets, and have no headers.
    """
    return float(
        sum(each["goodput_mbps"] * (1 if each["datagrams"] else PACKET / SEGMENT) for each in sources(result, kind))
    )


link_mbps = of_data("throughput_mbps")
"""Throughput of the data's direction with retransmissions, in Mbit/s."""


def packet_delay_s(result: Result) -> float:
    """Return the mean time of the transfers' packets of data from sender to receiver, in seconds."""
    (transfers,) = sources(result, FTP)
    (link,) = result.cell.links
    waited: float = transfers["queue_delay_ms_each_way"][DATA]["mean"] / 1000
    return waited + 8 * PACKET / link.rate_back_bps + link.delay_s + ACCESS_S


def _datagrams(result: Result, measure: str) -> float:
    """Return a measure of the datagrams; NaN without any."""
    value = sources(result, UDP)[0]["datagrams"][measure]
    return math.nan if value is None else float(value)


def udp_delay_s(result: Result) -> float:
    """Return the mean one-way delay of the datagrams, in seconds."""
    return _datagrams(result, "delay_ms_mean") / 1000


def longest_udp_delay_s(result: Result) -> float:
    """Return the longest one-way delay of the datagrams, in seconds."""
    return _datagrams(result, "delay_ms_max") / 1000


def drop_percent(result: Result, kind: str = "") -> float:
    """Return the share of dropped packets of the sources whose names begin with ``kind``, in percent."""
    sent, lost = (sum(each[what] for each in sources(result, kind)) for what in ("packets_sent", "packets_lost"))
    return 100 * lost / sent if sent else 0.0


def udp_drop_percent(result: Result) -> float:
    """Return the share of the datagrams that were dropped, in percent."""
    return _datagrams(result, "loss_percent")


def link_drop_percent(result: Result) -> float:
    """Return the share of the packets at the data's queue that were dropped, in percent."""
    counters = result.summary["counters"][DATA]
    dropped = sum(counters[cause] for cause in _DROPS)
    return float(100 * dropped / counters["arrived"])


def target_s(result: Result) -> float:
    """Return LDC's target delay, in seconds."""
    return seconds(result.cell.parameters["d_target"])


def trace(result: Result) -> pl.DataFrame:
    """Return the queues of data over time, with ``kb`` and ``delay_s``, the time that the link needs to send it."""
    rates = pl.DataFrame(
        [{"link": number, "rate": float(link.rate_bps)} for number, link in enumerate(result.cell.links, 1)],
        schema={"link": pl.UInt8, "rate": pl.Float64},
    )
    rows = result.queue.filter(pl.col("direction") == DATA)
    if "link" not in rows.columns:
        rows = rows.with_columns(link=pl.lit(1, pl.UInt8))
    return rows.join(rates, on="link", maintain_order="left").with_columns(
        kb=pl.col("bytes") / 1000, delay_s=8 * pl.col("bytes") / pl.col("rate")
    )


def mean_delay_s(result: Result) -> float:
    """Return the mean queueing delay of the data, in seconds."""
    return _mean(trace(result)["delay_s"])


def above_target_percent(result: Result) -> float:
    """Return the share of time in which the queue holds more than LDC's target, in percent."""
    return 100 * _mean(trace(result)["delay_s"] > target_s(result))


def rises_with_room_percent(result: Result) -> float:
    """Return the share of rises of BLUE's p with room for another packet, in percent."""
    rows = _changes(result).filter(pl.col("change") > 0)
    return 100 * _mean(rows["longest_kb"] <= BUFFER_KB - PACKET_KB)


def falls_with_queue_percent(result: Result) -> float:
    """Return the share of falls of BLUE's p with more than one packet queued throughout, in percent."""
    rows = _changes(result).filter(pl.col("change") < 0)
    return 100 * _mean(rows["shortest_kb"] > PACKET_KB)


def rises(result: Result) -> float:
    """Return the number of rises of BLUE's p."""
    return float((_changes(result)["change"] > 0).sum())


def falls(result: Result) -> float:
    """Return the number of falls of BLUE's p."""
    return float((_changes(result)["change"] < 0).sum())


def _changes(result: Result) -> pl.DataFrame:
    """Return each sample's change of p, with the queue's extremes since the sample before."""
    return trace(result).select(
        change=pl.col("p").diff(),
        longest_kb=pl.max_horizontal("kb", pl.col("kb").shift()),
        shortest_kb=pl.min_horizontal("kb", pl.col("kb").shift()),
    )


def drops_at_short_queue_percent(result: Result) -> float:
    """Return the share of the time with a queue below RED's lower threshold in which RED drops, in percent."""
    rows = trace(result).filter(pl.col("kb") < BUFFER_KB / 12)
    return 100 * _mean(rows["p_b"] > 0)


def missed_congestion_percent(result: Result) -> float:
    """Return the share of the seconds of overload with a probability below its mean, in percent."""
    rows = by_second(result)
    return 100 * _mean(rows.filter(pl.col("load") > 1)["p"] < _mean(rows["p"]))


def false_congestion_percent(result: Result) -> float:
    """Return the share of the seconds without overload with a probability above its mean, in percent."""
    rows = by_second(result)
    return 100 * _mean(rows.filter(pl.col("load") < 1)["p"] > _mean(rows["p"]))


def by_second(result: Result) -> pl.DataFrame:
    """Return LDC's load factor and probability, and the queue, averaged over each second."""
    return (
        trace(result)
        .group_by(time_s=pl.col("time_s").floor() + 0.5, maintain_order=True)
        .agg(load=pl.col("r_avg").mean(), p=pl.col("p_drop").mean(), kb=pl.col("kb").mean())
    )


def _mean(values: pl.Series) -> float:
    """Return the mean; NaN without values, so that no claim follows from it."""
    mean = values.mean()
    return math.nan if mean is None else float(mean)  # type: ignore[arg-type]
