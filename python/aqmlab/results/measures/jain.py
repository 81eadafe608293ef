"""Jain's index of fairness: how evenly something is shared.

Source: Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared
computer systems", DEC Research Report TR-301 (1984): the squared sum of n shares over n times the sum of their squares.
It is 1 where all have the same, and k / n where k of n share alike and the others have nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from aqmlab.results.measures.measure import ByScheme, Measure, Row, over_seeds, requests_of_users
from aqmlab.results.result import Result


def jain(shares: Sequence[float]) -> float | None:
    """Return the index of shares that are not below nought; ``None`` where nobody has anything.

    Examples
    --------
    >>> jain([5.0, 5.0, 0.0, 0.0])
    0.5
    """
    squares = sum(share**2 for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


def _of_sources(result: Result) -> float | None:
    """Say how evenly sources share goodput: of those that are to be compared at all, two at least."""
    goodputs = [source["goodput_mbps"] for source in result.summary["sources"]]
    return jain(goodputs) if len(goodputs) > 1 else None


def _of_users(result: Result) -> float | None:
    """Say how evenly web users share what was fetched; those who completed nothing count with nothing."""
    users = result.cell.users_per_side * result.cell.resolved["users"].get("sides", 2)
    if not users:
        return None
    fetched = requests_of_users(result).group_by("user").agg(pl.col("response_bytes").sum())
    shares = fetched["response_bytes"].cast(pl.Float64).to_list()
    return jain([*shares, *[0.0] * (users - len(shares))])


def _rows(schemes: ByScheme) -> Iterator[Row]:
    for label, results in schemes.items():
        for of, index in (("sources' goodput", _of_sources), ("users' bytes fetched", _of_users)):
            seeds = over_seeds([{"jain": index(result)} for result in results])
            if seeds["jain"] is not None:
                yield {"label": label, "of": of, **seeds}


JAIN = Measure("Fairness, Jain's index", {"jain": ("index", 3)}, _rows, needs_exchanges=True)
