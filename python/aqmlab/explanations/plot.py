"""Figures of times by cause: shares by band, and the resources of a page over time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from aqmlab.explanations.parts import PARTS, Wait
from aqmlab.explanations.timeline import Line

COLOURS = {
    "handshake": "#A6D3F0",
    "syn_timeouts": "#D55E00",
    "tls_handshake": "#7FA8D9",
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
    "application": "#C9A66B",
}
"""After Okabe and Ito: round trips are blue, timers orange and yellow, the link green, loss recovery purple,
applications brown."""

_WAITING = "#DDDDDD"
"""Other resources of a page before their requests."""

_FETCHING = "#B5B5B5"
"""Other resources of a page after their requests."""

_INCIDENT = "#B00020"


def bands(figure: Figure, rows: pl.DataFrame, *, title: str) -> None:
    """Draw the shares of the response time or page load time by cause, one bar for each band.

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
    wait = Wait.of(rows.columns)
    whole = rows[f"{wait.time}_ms"]
    names = [f"all {wait.plural}" if name == "mean" else f"around {name}" for name in rows["band"]]
    labels = [f"{name}\n{ms:,.0f} ms" for name, ms in zip(names, whole, strict=True)]
    left = np.zeros(rows.height)
    for part, name in PARTS.items():
        if not any(rows[part]):
            continue
        share = 100 * (rows[part] / whole).to_numpy()
        bars = axis.barh(labels, share, left=left, height=0.62, color=COLOURS[part], label=name)
        inside = [f"{value:.0f}" if value >= 3.5 else "" for value in share]
        axis.bar_label(bars, labels=inside, label_type="center", fontsize=size)
        left += share
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel=f"share of the {wait.name}, %")
    axis.grid(visible=False, axis="y")
    return axis


def waterfall(figure: Figure, resources: pl.DataFrame, incidents: Iterable[Line], *, title: str) -> None:
    """Draw the resources of a page over time, one bar each, with the path to the last one and what was lost.

    Parameters
    ----------
    figure
        The figure to draw on.
    resources
        The resources of one page, of :meth:`aqmlab.Explanation.resources_of`.
    incidents
        Its incidents, of :func:`aqmlab.explanations.timeline.incidents`.
    title
        The title of the figure.
    """
    rows = resources.sort("known_ns", "complete_ns").with_row_index("row").with_columns(pl.col("^.*_ns$") / 1e6)
    path, others = rows.filter("on_path"), rows.filter(~pl.col("on_path"))
    axis = figure.subplots()
    for shade, begin, end in ((_WAITING, "known_ns", "requested_ns"), (_FETCHING, "requested_ns", "complete_ns")):
        axis.barh(others["row"], others[end] - others[begin], left=others[begin], height=0.8, color=shade)
    left, height = path["known_ns"].to_numpy(), max(1.0, rows.height / 50)
    for part, name in PARTS.items():
        width = path[part].to_numpy() / 1e6
        if width.any():
            axis.barh(path["row"], width, left=left, height=height, color=COLOURS[part], label=name)
        left = left + width
    for (above, _), (below, known) in pairwise(path.select("row", "known_ns").iter_rows()):
        axis.plot([known, known], [above, below], color="black", linewidth=0.8)
    _mark_incidents(axis, rows, incidents)
    labels = _path_labels(path, rows.height)
    axis.set_yticks(list(labels), list(labels.values()))
    axis.invert_yaxis()
    axis.set(xlim=(0, None), xlabel="time since the start of the page, ms")
    axis.set_title(title, loc="left", fontsize=10)
    axis.grid(visible=False, axis="y")
    handles, names = axis.get_legend_handles_labels()
    handles += [Patch(color=_WAITING), Patch(color=_FETCHING)]
    names += ["other resources: before the request", "and after it"]
    axis.legend(handles, names, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1)


def _path_labels(path: pl.DataFrame, rows: int) -> dict[int, str]:
    """Return labels of the resources of a path by their rows; those too near to each other share one."""
    labels: dict[int, str] = {}
    for row, kind, size in path.select("row", "kind", "bytes").iter_rows():
        text = f"{kind}, {size / 1e3:,.0f} kB"
        last = next(reversed(labels), None)
        if last is not None and row - last < rows / 20:
            labels[last] += f"\n{text}"
        else:
            labels[row] = text
    return labels


def _mark_incidents(axis: Axes, rows: pl.DataFrame, incidents: Iterable[Line]) -> None:
    """Mark drops and timers at the resources that came over their connections then, those of the path before others."""
    marks: dict[str, list[tuple[float, int]]] = {"packet dropped": [], "timer expired": []}
    for line in incidents:
        is_drop = "dropped" in line.event or "evicted" in line.event
        if not is_drop and " after " not in line.event:
            continue
        at_ms = line.until_ms
        during = rows.filter(
            (pl.col("connection") == line.connection) & (pl.col("known_ns") <= at_ms) & (pl.col("complete_ns") >= at_ms)
        )
        if not during.is_empty():
            row = during.sort("on_path", "row", descending=[True, False])["row"][0]
            marks["packet dropped" if is_drop else "timer expired"].append((at_ms, row))
    for (name, points), marker in zip(marks.items(), ("x", "|"), strict=True):
        if points:
            times, places = zip(*points, strict=True)
            axis.scatter(times, places, marker=marker, s=24, color=_INCIDENT, linewidth=1, label=name, zorder=3)
