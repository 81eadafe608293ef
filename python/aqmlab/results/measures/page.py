"""Page-load time: from a page's first request to the end of its last response.

A user fetches a page and then thinks, so that pages of one user do not overlap, and each begins with its top-level
object: from one such request of a user to the next, all requests are of one page, whatever connections they go over. A
page is known to be over when its user has begun another, so that the one each user has open at the end of the measured
window, whose last objects nobody knows, is left out, and so are requests whose page began before the window's records.

An object that was given up has no row: its page is as long as the others of its objects. It is the time of the network
alone, without the work of a browser; by times of pages users judge the web in ITU-T Recommendation G.1030 (2014).
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, over_seeds, requests_of_users
from aqmlab.store.result import Result

_WHO = ("side", "user")


def pages(result: Result) -> pl.DataFrame:
    """Return a row for each page of a web user that is whole in the measured window.

    Parameters
    ----------
    result
        A cell with ``exchanges``.

    Returns
    -------
    polars.DataFrame
        ``side`` and ``user``, whose it is; ``start_s``, when the user began to wait, in seconds since the start of the
        run; ``requests``, the objects that came; ``load_time_ms``, until the last of them was there, in milliseconds.

    Raises
    ------
    SpecError
        When the cell keeps no rows of its requests.
    """
    requests = requests_of_users(result).sort(*_WHO, "start_s")
    number = pl.col("top_level").cum_sum().over(_WHO)
    end_ms = 1000 * pl.col("start_s") + pl.col("response_time_ms")
    loaded = (
        requests.with_columns(page=number, end_ms=end_ms)
        .group_by(*_WHO, "page", maintain_order=True)
        .agg(start_s=pl.col("start_s").first(), requests=pl.len(), end_ms=pl.col("end_ms").max())
    )
    whole = loaded.filter((pl.col("page") > 0) & (pl.col("page") < pl.col("page").max().over(_WHO)))
    load_time_ms = pl.col("end_ms") - 1000 * pl.col("start_s")
    return whole.select(*_WHO, "start_s", "requests", load_time_ms=load_time_ms)


def _of_seed(result: Result) -> dict[str, float | None]:
    time = pl.col("load_time_ms")
    quantiles = {f"p{percent}": time.quantile(percent / 100, "linear") for percent in (50, 90, 99)}
    return pages(result).select(pages=pl.len(), mean=time.mean(), **quantiles).row(0, named=True)


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        yield {"label": label, "of": "pages", **over_seeds([_of_seed(result) for result in results])}


def _lacks(cell: Cell) -> str | None:
    return None if cell.users_per_side else "web users"


PAGE = Measure(
    "Page-load times of web users, ms",
    {
        "pages": Column("whole pages", 0, "pages"),
        **{name: Column(name, 0, "ms") for name in ("mean", "p50", "p90", "p99")},
    },
    _rows,
    needs_exchanges=True,
    lacks=_lacks,
)
