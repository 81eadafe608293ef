"""Time series of flows, from the table ``flows`` of a result: rates, shares, fairness, and the time to converge.

>>> import aqmlab as lab
>>> lab.flows.time_to_converge_s(result.flows)  # doctest: +SKIP
"""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["jain", "last_change_s", "rates", "senders", "time_to_converge_s"]

_FLOW = ("source", "flow")
"""The columns that identify a flow; it may open several connections."""

FAIR = 0.95
"""The Jain index from which flows count as converged. Ours: with two flows it is a ratio of rates of at most 1.6."""


def senders(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the end of each connection that sends most data, with the ``label`` of its flow.

    A label is the congestion control, with the flow's number in the order of the table if several flows have it.
    """
    connection = [*_FLOW, "connection"]
    volumes = flows.group_by(*connection, "direction").agg(pl.col("delivered_bytes").max())
    data = volumes.sort(*connection, "delivered_bytes", descending=True).unique(connection, keep="first")
    rows = flows.join(data.select(*connection, "direction"), on=[*connection, "direction"], how="semi")
    return rows.sort("time_s", *_FLOW).join(_labels(rows), on=_FLOW, how="left", maintain_order="left")


def _labels(rows: pl.DataFrame) -> pl.DataFrame:
    names = rows.group_by(*_FLOW).agg(pl.col("control").first()).sort(*_FLOW)
    number = pl.int_range(1, pl.len() + 1).over("control")
    label = pl.when(pl.len().over("control") > 1).then(pl.format("{} {}", "control", number)).otherwise("control")
    return names.select(*_FLOW, label=label)


def rates(flows: pl.DataFrame, window_s: float = 1.0) -> pl.DataFrame:
    """Return the rate at which each flow's data were delivered in each window.

    Parameters
    ----------
    flows
        The table ``flows`` of a result.
    window_s
        The length of a window in seconds, at least twice the period of the table.

    Returns
    -------
    polars.DataFrame
        ``label``, ``time_s``, the middle of a window, ``rate_mbps``, and ``share`` of the rates of all flows.

    Raises
    ------
    ValueError
        When a window is too short.
    """
    rows = senders(flows)
    times = np.unique(rows["time_s"].to_numpy())
    period = float(np.diff(times).min(initial=np.inf))
    if len(times) > 1 and window_s < 2 * period - 1e-9:
        raise ValueError(
            f"window_s: must be at least twice the period of the table, {2 * period:g} s, got {window_s:g}"
        )
    start, end = (float(times[0]), float(times[-1])) if len(times) else (0.0, 0.0)
    # The last window may be incomplete.
    whole = pl.col("window") < int((end - start + 1e-9) / window_s)
    by_flow = window_rates(rows, start, window_s).filter(whole).join(_labels(rows), on=_FLOW)
    summed = by_flow.group_by("label", "window").agg(pl.col("rate_mbps").sum())
    total = pl.col("rate_mbps").sum().over("window")
    return summed.sort("window", "label").select(
        "label",
        time_s=start + (pl.col("window") + 0.5) * window_s,
        rate_mbps="rate_mbps",
        share=pl.when(total > 0).then(pl.col("rate_mbps") / total),
    )


def window_rates(rows: pl.DataFrame, start_s: float, window_s: float) -> pl.DataFrame:
    """Return the rate of each flow in each direction and window: ``window`` counts from 0 at ``start_s``.

    A flow has no rate in a window that has no row of it or only the first row of its connections.
    """
    # A first row also has the bytes of earlier periods.
    gained = pl.col("delivered_bytes").cast(pl.Int64).diff().over(*_FLOW, "connection", "direction", order_by="time_s")
    # A row with a time describes the period before it.
    window = ((pl.col("time_s") - start_s - 1e-6) / window_s).floor().cast(pl.Int64)
    steps = rows.with_columns(gained=gained, window=window).filter(pl.col("gained").is_not_null())
    return steps.group_by("direction", *_FLOW, "window").agg(rate_mbps=8e-6 / window_s * pl.col("gained").sum())


def jain_index(rates: pl.Expr) -> pl.Expr:
    """Return the Jain index of nonnegative rates, from 1 / n to 1; null if all are 0.

    It is (sum of x)^2 / (n sum of x^2): Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for
    resource allocation in shared computer systems", DEC Research Report TR-301 (1984).
    """
    total = rates.sum()
    return pl.when(total > 0).then(total**2 / (rates.len() * (rates**2).sum()))


def jain(flows: pl.DataFrame, window_s: float = 1.0) -> pl.DataFrame:
    """Return the Jain index of the flows' rates in each window: ``time_s``, ``jain`` and the number of ``flows``.

    The index is that of the flows that are open (:func:`jain_index`), and null if they deliver nothing.
    """
    index = jain_index(pl.col("rate_mbps"))
    return rates(flows, window_s).group_by("time_s").agg(jain=index, flows=pl.len()).sort("time_s")


def last_change_s(index: pl.DataFrame, window_s: float) -> float:
    """Return the time of the last change of the number of flows in a frame of :func:`jain`."""
    changes = index.filter(pl.col("flows") != pl.col("flows").shift(1, fill_value=0))
    return float(changes["time_s"].to_numpy().max()) - window_s / 2


def time_to_converge_s(flows: pl.DataFrame, window_s: float = 1.0, fair: float = FAIR) -> float | None:
    """Return the time from the last change of the number of flows until their rates stay fair; ``None`` if they do not.

    Rates stay fair from the first window on after which the Jain index of every window is at least ``fair``.
    """
    index = jain(flows, window_s)
    times, unfair = index["time_s"].to_numpy(), index["jain"].to_numpy() < fair
    if not len(times) or unfair[-1]:
        return None
    # The time of a window is its middle.
    fair_from = float(times[unfair].max(initial=-window_s / 2)) + window_s / 2
    return max(0.0, fair_from - last_change_s(index, window_s))
