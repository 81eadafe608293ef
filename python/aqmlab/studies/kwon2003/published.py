"""Kwon and Fahmy's tables: 3 and 4, means and standard deviations of five seeds on GFC-2, and two rows of 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files

import polars as pl

from aqmlab.store.result import Result
from aqmlab.studies.kwon2003 import measures

TABLE_5: Mapping[str, Mapping[str, float]] = {
    "paper": {"delay_s": 0.1335, "throughput_mbps": 0.9796, "drop_percent": 25.01},
    "half": {"delay_s": 0.1470, "throughput_mbps": 0.9765, "drop_percent": 23.12},
}
"""Two rows of table 5, by what we call the weights: the others are not in our copy."""

METRICS: Mapping[str, tuple[str, Callable[[Result], float]]] = {
    "http_response_mean_s": ("session mean, s", measures.session_s),
    "http_response_max_s": ("session max, s", measures.longest_session_s),
    "udp_delay_mean_s": ("UDP delay mean, s", measures.udp_delay_s),
    "udp_delay_max_s": ("UDP delay max, s", measures.longest_udp_delay_s),
    "http_throughput_mbps": ("HTTP, Mbit/s", partial(measures.delivered_mbps, kind=measures.HTTP)),
    "udp_throughput_mbps": ("UDP, Mbit/s", partial(measures.delivered_mbps, kind=measures.UDP)),
    "ftp_throughput_mbps": ("FTP, Mbit/s", partial(measures.delivered_mbps, kind=measures.FTP)),
    "http_drop_percent": ("HTTP drops, %", partial(measures.drop_percent, kind=measures.HTTP)),
    "udp_drop_percent": ("UDP drops, %", measures.udp_drop_percent),
    "ftp_drop_percent": ("FTP drops, %", partial(measures.drop_percent, kind=measures.FTP)),
    "total_drop_percent": ("all drops, %", measures.drop_percent),
}
"""The columns of the tables: as they are called in the file and on the page, and how we measure them."""


@cache
def published(statistic: str) -> Mapping[str, Mapping[str, float]]:
    """Return table 3 (``mean``) or table 4 (``std``): each algorithm's metrics by name."""
    rows = pl.read_csv(files(__package__).joinpath("published.csv").read_bytes())
    return {
        row["algorithm"]: {metric: row[metric] for metric in METRICS}
        for row in rows.filter(pl.col("statistic") == statistic).iter_rows(named=True)
    }
