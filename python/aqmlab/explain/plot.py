"""What response times are made of as a figure."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from aqmlab.explain.explanation import PARTS

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
"""After Okabe and Ito: ways are blue, timers are orange and yellow, the link is green, repair is purple."""


def bands(figure: Figure, rows: pl.DataFrame, *, title: str) -> None:
    """Draw what the response time is made of as a bar of shares for each band of requests.

    Parameters
    ----------
    figure
        Where to draw.
    rows
        One row for each band, as :func:`aqmlab.explain.by_band` gives them.
    title
        Whose requests they are.
    """
    axis = figure.subplots()
    names = ["all requests" if name == "mean" else f"around {name}" for name in rows["band"]]
    labels = [f"{name}\n{ms:,.0f} ms" for name, ms in zip(names, rows["response_time_ms"], strict=True)]
    left = np.zeros(rows.height)
    for part, name in PARTS.items():
        if not any(rows[part]):
            continue
        share = 100 * (rows[part] / rows["response_time_ms"]).to_numpy()
        bars = axis.barh(labels, share, left=left, height=0.62, color=COLOURS[part], label=name)
        inside = [f"{value:.0f}" if value >= 3.5 else "" for value in share]
        axis.bar_label(bars, labels=inside, label_type="center", fontsize=8)
        left += share
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="share of the response time, %")
    axis.grid(visible=False, axis="y")
    axis.set_title(title, loc="left", fontsize=10)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1)
