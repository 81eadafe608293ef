"""Slowdown: the response time of a request divided by that of its twin on the uncongested network.

Under common random numbers, a user has the same requests on every network with the same seed. The twin is therefore
found by user, connection and sizes. It has the same server and the same size of the response, so that these do not
affect the ratio. A request is left out if its twin was not completed in the measurement window.

The measure is common where flows of all sizes are compared. An example is Alizadeh et al., "pFabric: minimal
near-optimal datacenter transport", SIGCOMM 2013: the completion time, normalized by that on an idle network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, congested, requests_of_users
from aqmlab.store.result import Result

SIZES = {"up to 1 kB": 1000, "1 to 10 kB": 10_000, "10 to 100 kB": 100_000, "100 kB to 1 MB": 1_000_000}
"""The classes of response sizes by their upper bounds; larger responses form a further class."""

_LARGEST_SIZE = "over 1 MB"

_QUANTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}

_MIN_REQUESTS = 10
"""The smallest number of requests of a size for which a quantile is shown. Ours."""

_IDENTITY = ("side", "user", "connection", "request_bytes", "response_bytes")
"""The columns that identify twins; requests that they do not identify uniquely are left out."""


def slowdowns(result: Result, uncongested: Result) -> pl.DataFrame:
    """Return the slowdown of each web user's request that has a twin.

    Parameters
    ----------
    result
        A cell with ``exchanges``.
    uncongested
        The uncongested network with the same users and seed, also with ``exchanges``.

    Returns
    -------
    polars.DataFrame
        ``size``, the class of its response in :data:`SIZES`, ``response_bytes``, and ``slowdown``.
    """
    requests, twins = (
        requests_of_users(cell_result).filter(pl.struct(_IDENTITY).is_unique()).select(*_IDENTITY, "response_time_ms")
        for cell_result in (result, uncongested)
    )
    classes = [pl.when(pl.col("response_bytes") <= limit).then(pl.lit(name)) for name, limit in SIZES.items()]
    joined = requests.join(twins, on=_IDENTITY, suffix="_free")
    return joined.select(
        "response_bytes",
        size=pl.coalesce(*classes, pl.lit(_LARGEST_SIZE)),
        slowdown=pl.col("response_time_ms") / pl.col("response_time_ms_free"),
    )


def by_size(results: Sequence[Result], uncongested: Sequence[Result]) -> pl.DataFrame:
    """Return quantiles of slowdowns by the size of the response, over all common seeds.

    Parameters and errors are those of :func:`slowdowns`, for several seeds.

    Returns
    -------
    polars.DataFrame
        A row for each octave of sizes with at least ten requests: ``bytes``, its middle on a logarithmic axis, the
        number of ``requests``, and ``p50``, ``p90`` and ``p99``.
    """
    baseline = {result.cell.seed: result for result in uncongested}
    all_slowdowns = pl.concat(
        slowdowns(result, baseline[result.cell.seed]) for result in results if result.cell.seed in baseline
    )
    octave = pl.col("response_bytes").clip(1).log(2).floor()
    return (
        all_slowdowns.group_by(octave=octave)
        .agg(
            pl.len().alias("requests"),
            *(pl.col("slowdown").quantile(share, "linear").alias(name) for name, share in _QUANTILES.items()),
        )
        .filter(pl.col("requests") >= _MIN_REQUESTS)
        .sort("octave")
        .select("requests", *_QUANTILES, bytes=2 ** (pl.col("octave") + 0.5))
    )


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    (baseline,) = (results for results in schemes.values() if results[0].cell.signal == "none")
    for label, results in congested(schemes).items():
        pairs = zip(results, baseline, strict=True)
        all_slowdowns = pl.concat([slowdowns(*pair) for pair in pairs])
        for size in (None, *SIZES, _LARGEST_SIZE):
            slowdown = (
                all_slowdowns["slowdown"] if size is None else all_slowdowns.filter(pl.col("size") == size)["slowdown"]
            )
            if len(slowdown):
                yield {
                    "label": label,
                    "of": size or "all sizes",
                    "requests": len(slowdown),
                    "mean": slowdown.mean(),
                } | {f"p{percent}": slowdown.quantile(percent / 100, "linear") for percent in (50, 90, 99)}


SLOWDOWN = Measure(
    "Slowdown of web users' requests, by size of the response",
    {
        "requests": Column("with a twin", 0, "requests"),
        **{name: Column(name, 2, "times") for name in ("mean", "p50", "p90", "p99")},
    },
    _rows,
    needs_exchanges=True,
    needs_uncongested=True,
)
