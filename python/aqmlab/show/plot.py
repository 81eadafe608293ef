"""Figures. They take tidy frames and an axis and return the axis; they compute no statistics.

The same data give the same files, to the byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatter, ScalarFormatter

from aqmlab.design.control import Loop
from aqmlab.disciplines.step import Load
from aqmlab.explain import PARTS
from aqmlab.running.calibration.lines import PUBLISHED_USERS, Calibration

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; beyond six they come again, with other dashes."""

_DASHES = (
    "-",
    (0, (4, 1.2)),
    (0, (1.2, 1)),
    (0, (6, 1.2, 1.2, 1.2)),
    (0, (2.4, 1.2)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
"""Lines differ by their dashes as well as by colour, for print and for eyes that tell no colours apart."""

_THICKEST, _THINNEST = 2.8, 1.3
"""Points: later lines are thinner, so that of two that coincide the lower one shows at the edges and in the gaps."""

_PART_COLOURS = {
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

_STAMPS = {"svg": "Date", "png": "Software", "pdf": "CreationDate"}
"""What a kind of file would tell of when or with what it was made."""

GROUPED = FuncFormatter(lambda value, _: f"{value:,.12g}")
"""Writes numbers as text does: 1,000."""


class _GroupedDecades(LogFormatter):
    """Writes 1,000 where a logarithmic axis would have a power of ten; which ticks have a label stays as it was."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,.12g}" if super().__call__(x, pos) else ""


def response_time_cdf(axis: Axes, curves: Mapping[str, pl.DataFrame], *, baseline: str) -> Axes:
    """Draw the share of requests answered within a time, up to 2 s as in the papers.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``time_ms`` and ``fraction`` by label.
    baseline
        The label that is drawn as a thin black line.
    """
    for index, (label, curve) in enumerate(curves.items()):
        style = _line(index, label == baseline)
        axis.plot(curve["time_ms"], 100 * curve["fraction"], label=_name(label, curve), **style)
    axis.set(xlim=(0, 2000), ylim=(0, 100), xlabel="response time, ms", ylabel="requests answered within it, %")
    return _legend(axis)


def response_time_ccdf(axis: Axes, curves: Mapping[str, pl.DataFrame], *, baseline: str) -> Axes:
    """Draw the share of requests that take longer than a time, on logarithmic axes: the tail.

    The parameters are those of :func:`response_time_cdf`.
    """
    for index, (label, curve) in enumerate(curves.items()):
        style = _line(index, label == baseline)
        axis.plot(curve["time_ms"], 100 * (1 - curve["fraction"]), label=_name(label, curve), **style)
    axis.set(xscale="log", yscale="log", xlim=(10, 100_000), ylim=(0.001, 100))
    axis.set(xlabel="response time, ms", ylabel="requests that take longer, %")
    return _legend(axis)


def calibration(axis: Axes, fitted: Calibration) -> Axes:
    """Draw the throughput of the uncongested network over the users, the fitted line and its 100 % point."""
    most = max(fitted.users_per_side) * 1.05
    line = np.array([0.0, most])
    full = 100 / fitted.mbps_per_user
    axis.plot(line, line * fitted.mbps_per_user, color="black", linewidth=0.8)
    axis.plot(fitted.users_per_side, fitted.throughput_mbps, "o", color=PALETTE[0], label="measured")
    axis.plot([full, full, 0], [0, 100, 100], color=PALETTE[1], linewidth=0.8, linestyle=":")
    beside: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axis.annotate(f"100 Mbit/s: {full:,.0f}", (full, 100), (8, -10), color=PALETTE[1], **beside)
    if fitted.rtt in PUBLISHED_USERS:
        published = PUBLISHED_USERS[fitted.rtt]
        axis.plot([published], [100], "x", color="black")
        axis.annotate(f"published: {published:,}", (published, 100), (-8, 10), ha="right", **beside)
    axis.set(xlim=(0, most), ylim=(0, None), xlabel="users on each side", ylabel="throughput each way, Mbit/s (IP)")
    return axis


def pi_loop(figure: Figure, loop: Loop, *, title: str) -> None:
    """Draw a PI loop's gain and phase with its margins, and how the queue follows a step of the reference."""
    margins = loop.margins()
    panels = figure.subplot_mosaic([["gain", "step"], ["phase", "step"]])
    gain, phase, step = panels["gain"], panels["phase"], panels["step"]
    middle = math.sqrt(margins.crossover * margins.phase_crossover)
    w = np.geomspace(middle / 50, middle * 50, 300)
    gain.plot(w, 20 * np.log10(loop.magnitude(w)), color=PALETTE[0])
    gain.axhline(0, color="black", linewidth=0.8)
    gain.plot([margins.phase_crossover] * 2, [-margins.gain_margin_db, 0], color=PALETTE[1], marker="_")
    gain.set(xscale="log", ylabel="gain, dB")
    gain.set_title(f"gain margin {margins.gain_margin_db:.1f} dB", loc="right", fontsize=9, color=PALETTE[1])
    phase.plot(w, loop.phase_deg(w), color=PALETTE[0])
    phase.axhline(-180, color="black", linewidth=0.8)
    phase.plot([margins.crossover] * 2, [margins.phase_margin_deg - 180, -180], color=PALETTE[1], marker="_")
    phase.set(
        xscale="log", ylabel="phase, degrees", xlabel="frequency, rad/s", ylim=(-360, 0), yticks=range(-360, 1, 90)
    )
    phase.set_title(f"phase margin {margins.phase_margin_deg:.1f}°", loc="right", fontsize=9, color=PALETTE[1])
    response = loop.step_response(15 / margins.crossover, points=400)
    step.axhline(1, color="black", linewidth=0.8)
    step.plot(response["time_s"], response["queue"], color=PALETTE[0])
    step.set(xlim=(0, response["time_s"][-1]), ylim=(0, None), xlabel="time, s", ylabel="rise of the queue, packets")
    step.set_title("the reference rises by 1 packet", loc="right", fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)


def step_response(figure: Figure, rows: pl.DataFrame, load: Load, *, title: str) -> None:
    """Draw a discipline's answer to a step of load: queueing delay, marks and drops, and a variable of the law's own.

    Parameters
    ----------
    figure
        Where to draw.
    rows
        What :func:`aqmlab.disciplines.step.step_response` returns.
    load
        The load that it was given.
    """
    own = _own_variable(rows)
    panels = figure.subplots(
        2 if own is None else 3, 1, sharex=True, height_ratios=(5, 3) if own is None else (5, 3, 3)
    )
    delay, signals = panels[:2]
    for axis in panels:
        axis.axvspan(load.up_s, load.down_s, color="#f3f3f3", linewidth=0)
    delay.plot(rows["time_s"], rows["delay_ms"], color=PALETTE[0], linewidth=1)
    delay.set(ylabel="in the queue, ms", ylim=(0, None), xlim=(0, load.end_s))
    delay.set_title(title, loc="left", fontsize=10)
    wanted = f"shaded: {100 * load.high:.0f} % of the link's rate wanted; else {100 * load.low:.0f} %"
    delay.set_title(wanted, loc="right", fontsize=9)
    second = (pl.col("time_s") - 0.05).floor()
    shares = rows.group_by(second, maintain_order=True).agg(
        dropped=100 * pl.col("dropped").sum() / pl.col("arrived").sum(),
        signalled=100 * (pl.col("dropped") + pl.col("marked")).sum() / pl.col("arrived").sum(),
    )
    edges = np.arange(len(shares) + 1)
    signals.stairs(shares["dropped"].to_numpy(), edges, fill=True, color=PALETTE[4], linewidth=0, label="dropped")
    signals.stairs(shares["signalled"].to_numpy(), edges, color="black", linewidth=0.8, label="marked or dropped")
    signals.set(ylabel="packets, %", ylim=(0, None))
    signals.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, handlelength=1)
    if own is not None:
        panels[2].plot(rows["time_s"], rows[own], color=PALETTE[1], linewidth=1)
        panels[2].set(ylabel=own, ylim=(0, None))
    panels[-1].set_xlabel("time, s")
    figure.align_ylabels()


def drop_curve(figure: Figure, curve: pl.DataFrame, *, title: str) -> None:
    """Draw the probability of a signal, ``p_b``, over the average queue, ``avg``."""
    axis = figure.subplots()
    axis.plot(curve["avg"], curve["p_b"], color=PALETTE[0])
    axis.set(xlabel="average queue, packets", ylabel="probability", xlim=(0, None), ylim=(0, 1.02))
    axis.set_title(title, loc="left", fontsize=10)


def queue_tail(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the share of time for which a queue is longer than a length, on a logarithmic axis.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``packets`` and ``above``, the model's share of time with more, by label.
    simulated
        Points to draw beside them, under the same labels: frames of ``packets``, ``above``, ``low`` and ``high``; none
        where it is empty.
    """
    _model_and_points(axis, "packets", 1.0, curves, simulated)
    axis.set(xlabel="packets in the queue", ylabel="time with more, %", yscale="log", xlim=(0, None), ylim=(0.01, 100))
    return _legend(axis)


def queue_exceedance(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the share of time for which a queue is longer than its target, over the utilisation.

    The parameters are those of :func:`queue_tail`, with ``utilisation`` in the place of ``packets``.
    """
    _model_and_points(axis, "utilisation", 100.0, curves, simulated)
    axis.set(xlabel="utilisation, %", ylabel="time above the target, %", xlim=(None, 100), ylim=(0, 100))
    return _legend(axis)


def queue_means(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the mean of a queue over the length of flows.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``flow_packets`` and ``mean``, a model's, by label.
    simulated
        Frames of ``flow_packets``, ``mean``, ``low`` and ``high`` by label: points with their intervals.
    """
    for index, (label, curve) in enumerate(curves.items(), start=1):
        axis.plot(curve["flow_packets"], curve["mean"], label=label, **_line(index, is_baseline=False))
    for label, points in simulated.items():
        x = points["flow_packets"].to_numpy()
        axis.plot(x, points["mean"], "o", markersize=4, color="black", label=label)
        axis.vlines(x, points["low"], points["high"], color="black", linewidth=0.8)
    axis.set(xlabel="packets of a flow", ylabel="mean queue, packets", xlim=(0, None), ylim=(0, None))
    return _legend(axis)


def _model_and_points(
    axis: Axes, over: str, unit: float, curves: Mapping[str, pl.DataFrame], simulated: Mapping[str, pl.DataFrame]
) -> None:
    for index, (label, curve) in enumerate(curves.items(), start=1):
        line = _line(index, is_baseline=False)
        axis.plot(unit * curve[over], 100 * curve["above"], label=label, **line)
        if label in simulated:
            points = simulated[label]
            x = (unit * points[over]).to_numpy()
            axis.scatter(x, 100 * points["above"], s=16, color=line["color"], zorder=3)
            axis.vlines(x, 100 * points["low"], 100 * points["high"], color=line["color"], linewidth=0.8)
    if simulated:
        axis.set_title("dots: simulated, 95 % intervals", loc="right", fontsize=9)


def _own_variable(rows: pl.DataFrame) -> str | None:
    """Name the variable that says most of a law: its probability if it shows one, else the first that varies."""
    known = ("time_s", "delay_ms", "arrived", "dropped", "marked")
    varying = [name for name in rows.columns if name not in known and rows[name].n_unique() > 1]
    probabilities = [name for name in varying if name.split("_")[0] == "p"]
    return next(iter((*probabilities, *varying)), None)


def explanation(figure: Figure, bands: pl.DataFrame, *, title: str) -> None:
    """Draw what the response time is made of as a bar of shares for each band of requests.

    Parameters
    ----------
    figure
        Where to draw.
    bands
        One row for each band, as :func:`aqmlab.explain.by_band` gives them.
    title
        Whose requests they are.
    """
    axis = figure.subplots()
    names = ["all requests" if name == "mean" else f"around {name}" for name in bands["band"]]
    labels = [f"{name}\n{ms:,.0f} ms" for name, ms in zip(names, bands["response_time_ms"], strict=True)]
    left = np.zeros(bands.height)
    for part, name in PARTS.items():
        if not any(bands[part]):
            continue
        share = 100 * (bands[part] / bands["response_time_ms"]).to_numpy()
        bars = axis.barh(labels, share, left=left, height=0.62, color=_PART_COLOURS[part], label=name)
        inside = [f"{value:.0f}" if value >= 3.5 else "" for value in share]
        axis.bar_label(bars, labels=inside, label_type="center", fontsize=8)
        left += share
    axis.invert_yaxis()
    axis.set(xlim=(0, 100), xlabel="share of the response time, %")
    axis.grid(visible=False, axis="y")
    axis.set_title(title, loc="left", fontsize=10)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1)


def save(stem: Path, draw: Callable[[Axes], Axes], *, title: str) -> list[Path]:
    """Draw a figure of one axis and write it as SVG and PNG; return the files."""

    def draw_titled(figure: Figure) -> None:
        draw(figure.subplots()).set_title(title, loc="left", fontsize=10)

    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png")]
    for file in files:
        write(file, draw_titled)
    return files


def write(file: Path, draw: Callable[[Figure], None], *, size: tuple[float, float] = (8, 4.5)) -> None:
    """Draw a figure and write it in the form of the file's suffix."""
    style: dict[Any, Any] = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e5e5e5",
        "grid.linewidth": 0.6,
        "svg.hashsalt": "aqmlab",
        # Text stays text: it can be searched and copied, and files are small.
        "svg.fonttype": "none",
        # A dollar in the name of a scheme is a dollar.
        "text.parse_math": False,
        "legend.frameon": False,
        "legend.handlelength": 3,
    }
    kind = check_kind(file)
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        for axis in figure.axes:
            _write_numbers_alike(axis)
        _make_room(figure)
        try:
            figure.savefig(file, dpi=160, metadata={_STAMPS[kind]: None})
        except OSError as error:
            # A full disk does not say which file it was.
            error.filename = error.filename or str(file)
            raise


def line_styles(labels: Iterable[str], *, baseline: str) -> dict[str, dict[str, Any]]:
    """Return colour, width and dashes for the lines of each label, the baseline's thin and black."""
    others = [label for label in labels if label != baseline]
    return {baseline: _line(0, is_baseline=True)} | {
        label: _line(index, is_baseline=False) for index, label in enumerate(others, start=1)
    }


def check_writable(file: Path) -> None:
    """Raise what a figure's file would raise in the end: ``ValueError`` for its kind, ``OSError`` for its place."""
    check_kind(file)
    was_there = file.exists()
    with file.open("ab"):
        pass
    if not was_there:
        file.unlink()


def check_kind(file: Path) -> str:
    """Return the form of a figure, which its file's suffix says; a ``ValueError`` says which there are."""
    kind = file.suffix.removeprefix(".")
    if kind not in _STAMPS:
        raise ValueError(f"a figure is one of {', '.join(_STAMPS)}, got {file.name!r}")
    return kind


def _line(index: int, is_baseline: bool) -> dict[str, Any]:
    if is_baseline:
        return {"color": "black", "linewidth": 0.8}
    turn, colour = divmod(index - 1, len(PALETTE))
    return {
        "color": PALETTE[colour],
        "linewidth": max(_THINNEST, _THICKEST - 0.4 * colour),
        "linestyle": _DASHES[(colour + turn) % len(_DASHES)],
        "dash_capstyle": "butt",
    }


def _write_numbers_alike(axis: Axes) -> None:
    """Group thousands and write out powers of ten, on all axes that were not given a form of their own."""
    for each in (axis.xaxis, axis.yaxis):
        for is_minor, formatter in ((False, each.get_major_formatter()), (True, each.get_minor_formatter())):
            put = each.set_minor_formatter if is_minor else each.set_major_formatter
            if isinstance(formatter, LogFormatter):
                put(_GroupedDecades(labelOnlyBase=formatter.labelOnlyBase, minor_thresholds=formatter.minor_thresholds))
            elif isinstance(formatter, ScalarFormatter) and not is_minor:
                put(GROUPED)


def _make_room(figure: Figure) -> None:
    """Enlarge a figure by what its legends take beyond their share: a line's name is as long as a user's scheme."""
    width, height = figure.get_size_inches()
    beside = [(legend, 0.4) for axis in figure.axes if (legend := axis.get_legend()) is not None]
    wider = taller = 0.0
    # Panels keep the room that they have without their legend.
    for legend, share in (*beside, *((legend, 0.0) for legend in figure.legends)):
        size = legend.get_window_extent()
        wider = max(wider, size.width / figure.dpi - share * width)
        taller = max(taller, size.height / figure.dpi - 0.9 * height)
    figure.set_size_inches(width + wider, height + taller)


def name_lines(where: Axes | Figure, lines: Sequence[Artist], *, colour: str = "linecolor") -> None:
    """Name lines, all at the right: beside the axis, or beside all panels of a figure where they have the same ones."""
    if isinstance(where, Axes):
        where.legend(handles=lines, loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=colour)
    else:
        where.legend(handles=lines, loc="outside right center", labelcolor=colour)


def _name(label: str, curve: pl.DataFrame) -> str:
    return f"{label}: no requests completed" if curve.is_empty() else label


def _legend(axis: Axes) -> Axes:
    """Name the lines beside the axis, from top to bottom as they lie in it; those of nothing come last."""
    across = np.linspace(0, 1, 200)

    def height(line: Line2D) -> float:
        if np.size(line.get_xdata()) == 0:
            return -1.0
        x, y = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata())).T
        return float(np.interp(across, x, y).clip(0, 1).mean())

    lines = sorted(axis.get_lines(), key=height, reverse=True)
    name_lines(axis, lines)
    return axis
