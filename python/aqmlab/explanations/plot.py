"""A figure of response times by cause."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aqmlab.explanations.explanation import PARTS

COLOURS = {
    "handshake": "#A6D3F0",
    "syn_timeouts": "#D55E00",
    "request_round_trip": "#56B4E9",
    "further_round_trips": "#0072B2",
    "recovery": "#CC79A7",
    "data_timeouts": "#E69F00",
    "reordering": "#B35C84",
    "probes": "#F5C76A",
    "pacing": "#5D5D5D",
    "delayed_acks": "#F0E442",
    "queueing": "#009E73",
    "transmission": "#7FCFB6",
    "interface": "#999999",
}
"""After Okabe and Ito: round trips are blue, timers orange and yellow, the link green, loss recovery purple."""


def bands(figure: Figure, rows: pl.DataFrame, *, title: str) -> None:
    """Draw the shares of the response time by cause, one bar for each band of requests.

    Parameters
    ----------
    figure
        The figure to draw on.
    rows
        The result of :func:`aqmlab.explanations.by_band`.
    title
        The title of the figure.
    """
    axis = shares(figure.subplots(), rows)
    axis.set_title(title, loc="left", fontsize=10)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1)


def shares(axis: Axes, rows: pl.DataFrame, *, size: float = 8) -> Axes:
    """Draw the bars of :func:`bands` on an axis, without title and legend; ``size`` is that of the numbers."""
    names = ["all requests" if name == "mean" else f"around {name}" for name in rows["band"]]
    labels = [f"{name}\n{ms:,.0f} ms" for name, ms in zip(names, rows["response_time_ms"], strict=True)]
    left = np.zeros(rows.height)
    for part, name in PARTS.items():
        if not any(rows[part]):
            continue
        share = 100 * (rows[part] / rows["response_time_ms"]).to_numpy()
        bars = axis.barh(labels, share, left=left, height=0.62, color=COLOURS[part], label=name)
        inside = [f"{value:.0f}" if value >= 3.5 else "" for value in share]
        axis.bar_label(bars, labels=inside, label_type="center", fontsize=size)
        left += share
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="share of the response time, %")
    axis.grid(visible=False, axis="y")
    return axis
