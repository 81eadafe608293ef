"""What is read off one result for Kwon and Fahmy's claims and tables."""

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
"""What the names of the sources of each class of traffic begin with."""


SESSION_PAGES = 5
"""Pages of a session, which the paper does not print: as in that script of ns-2's examples that has the times and sizes
of the large one. The large one has 250, which at 15 s each no run of 900 s ends. Fixed before sessions were measured.
"""


@cache
def session_times_s(result: Result, pages: int = SESSION_PAGES) -> pl.Series:
    """Return how long each session took, in seconds: from its first request until the last of its pages had come.

    The pages of each client are its sessions', one session after another. What was not complete at the end is left out.
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
    """Return the mean response time of the sessions, in seconds; not a number without any."""
    return _mean(session_times_s(result, pages))


def longest_session_s(result: Result) -> float:
    """Return the longest response time of a session, in seconds; not a number without any."""
    longest = session_times_s(result).max()
    return math.nan if longest is None else float(longest)  # type: ignore[arg-type]


def delivered_mbps(result: Result, kind: str = "") -> float:
    """Return the data that reached a class of traffic, in Mbit/s as ns-2 counts them; that of all without one.

    Its segments are as long as our packets, and have no headers.
    """
    return float(
        sum(each["goodput_mbps"] * (1 if each["datagrams"] else PACKET / SEGMENT) for each in sources(result, kind))
    )


link_mbps = of_data("throughput_mbps")
"""What the link carried of the data's packets, those sent again with them, in Mbit/s."""


def packet_delay_s(result: Result) -> float:
    """Return the mean time of the transfers' packets of data from sender to receiver, in seconds."""
    (transfers,) = sources(result, FTP)
    (link,) = result.cell.links
    waited: float = transfers["queue_delay_ms_each_way"][DATA]["mean"] / 1000
    return waited + 8 * PACKET / link.rate_back_bps + link.delay_s + ACCESS_S


def response_s(result: Result) -> float:
    """Return the mean response time of all pages, in seconds; not a number without any."""
    times = [
        (each["completed"], each["response_time_ms"]["mean"]) for each in sources(result, HTTP) if each["completed"]
    ]
    pages = sum(completed for completed, _ in times)
    return sum(completed * mean for completed, mean in times) / pages / 1000 if pages else math.nan


def _datagrams(result: Result, measure: str) -> float:
    """Read off what became of the datagrams; not a number where there were none."""
    value = sources(result, UDP)[0]["datagrams"][measure]
    return math.nan if value is None else float(value)


def udp_delay_s(result: Result) -> float:
    """Return the mean one-way delay of the datagrams, in seconds."""
    return _datagrams(result, "delay_ms_mean") / 1000


def longest_udp_delay_s(result: Result) -> float:
    """Return the longest one-way delay of the datagrams, in seconds."""
    return _datagrams(result, "delay_ms_max") / 1000


def drop_percent(result: Result, kind: str = "") -> float:
    """Return the share of a class's packets that were dropped, in percent; of all classes without one."""
    sent, lost = (sum(each[what] for each in sources(result, kind)) for what in ("packets_sent", "packets_lost"))
    return 100 * lost / sent if sent else 0.0


def udp_drop_percent(result: Result) -> float:
    """Return the share of the datagrams that were dropped, in percent."""
    return _datagrams(result, "loss_percent")


def link_drop_percent(result: Result) -> float:
    """Return the share of the packets that arrived at the link's queue of data that were dropped, in percent."""
    counted = result.summary["counters"][DATA]
    dropped = sum(counted[cause] for cause in _DROPS)
    return float(100 * dropped / counted["arrived"])


def target_s(result: Result) -> float:
    """Return LDC's target delay, in seconds."""
    return seconds(result.cell.parameters["d_target"])


def trace(result: Result) -> pl.DataFrame:
    """Return the queues of data over time, with ``kb`` and ``delay_s``: how long the link takes to send what waits."""
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


def late_percent(result: Result) -> float:
    """Return the share of time in which the queue holds more than LDC's target, in percent."""
    return 100 * _mean(trace(result)["delay_s"] > target_s(result))


def rises_with_room_percent(result: Result) -> float:
    """Return the share of the rises of BLUE's p that find room for another packet, in percent."""
    rows = _changes(result).filter(pl.col("change") > 0)
    return 100 * _mean(rows["longest_kb"] <= BUFFER_KB - PACKET_KB)


def falls_with_queue_percent(result: Result) -> float:
    """Return the share of the falls of BLUE's p with more than a packet waiting all the time, in percent."""
    rows = _changes(result).filter(pl.col("change") < 0)
    return 100 * _mean(rows["shortest_kb"] > PACKET_KB)


def rises(result: Result) -> float:
    """Return how often BLUE's p rises."""
    return float((_changes(result)["change"] > 0).sum())


def falls(result: Result) -> float:
    """Return how often BLUE's p falls."""
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


def spared_overload_percent(result: Result) -> float:
    """Return the share of the seconds of overload with a probability below its mean, in percent."""
    rows = by_second(result)
    return 100 * _mean(rows.filter(pl.col("load") > 1)["p"] < _mean(rows["p"]))


def punished_underload_percent(result: Result) -> float:
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
    """Return the mean; not a number of nothing, so that nothing is claimed from it."""
    mean = values.mean()
    return math.nan if mean is None else float(mean)  # type: ignore[arg-type]
