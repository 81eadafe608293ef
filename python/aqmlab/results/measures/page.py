"""Page-load time: from a page's first request to the end of its last response.

A user fetches a page and then thinks, so that the pages of one user do not overlap. Each page begins with its top-level
object: all requests of a user from one such request to the next belong to one page, over any connection. A page is
complete when its user has begun another. Each user's last page in the measurement window is therefore left out, as are
requests of pages that began before the window.

An aborted object has no row: its page is as long as its other objects. The time is that of the network, without the
work of a browser. In ITU-T Recommendation G.1030 (2014), users judge the web by page times.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, over_seeds, requests_of_users
from aqmlab.store.result import Result

_USER = ("side", "user")


def pages(result: Result) -> pl.DataFrame:
    """Return a row for each complete page of a web user in the measurement window.

    Parameters
    ----------
    result
        A cell with ``exchanges``.

    Returns
    -------
    polars.DataFrame
        The ``side`` and the ``user``; ``start_s``, the first request, in seconds since the start of the run;
        ``requests``, the number of objects; ``load_time_ms``, the time to the end of the last response, in
        milliseconds.

    Raises
    ------
    SpecError
        When the cell has no table ``exchanges``.
    """
    requests = requests_of_users(result).sort(*_USER, "start_s")
    number = pl.col("top_level").cum_sum().over(_USER)
    end_ms = 1000 * pl.col("start_s") + pl.col("response_time_ms")
    loaded = (
        requests.with_columns(page=number, end_ms=end_ms)
        .group_by(*_USER, "page", maintain_order=True)
        .agg(start_s=pl.col("start_s").first(), requests=pl.len(), end_ms=pl.col("end_ms").max())
    )
    complete = loaded.filter((pl.col("page") > 0) & (pl.col("page") < pl.col("page").max().over(_USER)))
    load_time_ms = pl.col("end_ms") - 1000 * pl.col("start_s")
    return complete.select(*_USER, "start_s", "requests", load_time_ms=load_time_ms)


def _measure_seed(result: Result) -> dict[str, float | None]:
    time = pl.col("load_time_ms")
    quantiles = {f"p{percent}": time.quantile(percent / 100, "linear") for percent in (50, 90, 99)}
    return pages(result).select(pages=pl.len(), mean=time.mean(), **quantiles).row(0, named=True)


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        yield {"label": label, "of": "pages", **over_seeds([_measure_seed(result) for result in results])}


def _missing_requirement(cell: Cell) -> str | None:
    return None if cell.users_per_side else "web users"


PAGE = Measure(
    "Page-load times of web users, ms",
    {
        "pages": Column("whole pages", 0, "pages"),
        **{name: Column(name, 0, "ms") for name in ("mean", "p50", "p90", "p99")},
    },
    _rows,
    needs_exchanges=True,
    missing_requirement=_missing_requirement,
)
