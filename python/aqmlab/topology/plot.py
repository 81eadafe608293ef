"""A figure of the topology: routers, links, the paths of senders, and the measurement window."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aqmlab.topology.network import SenderView, Topology, rows
from aqmlab.ui import canvas

_BLUE, _ORANGE, _GREEN, _PURPLE, _YELLOW, _SKY = canvas.PALETTE
_COLOURS = {"web users": _BLUE, "transfers": _SKY, "bulk": _ORANGE, "datagrams": _PURPLE, "on off": _YELLOW}
"""Colours by kind of traffic."""

_OTHER = _GREEN
"""The colour of web traffic of other models, and of traces."""

_CAPACITY_HEIGHT = 1.5
"""The height of the capacities over time, in inches."""

_LINK = "#555555"
_GREY = "#444444"


def save(file: Path, network: Topology, title: str) -> None:
    """Draw a network and write it in the format of the file's suffix; a ``ValueError`` lists the formats."""
    packed_rows = rows(network.senders, [sender.path for sender in network.senders])
    height = 2.6 + 0.3 * len(packed_rows) + (_CAPACITY_HEIGHT if network.capacities else 0)
    width = min(20.0, max(8.0, 1.5 * len(network.links) + 1.5))
    canvas.write(file, lambda figure: draw(figure, network, title=title), size=(width, height))


def draw(figure: Figure, network: Topology, *, title: str) -> None:
    """Draw routers and links, the paths of all senders, capacities that vary, and the time axis at the bottom."""
    packed_rows = rows(network.senders, [sender.path for sender in network.senders])
    heights = [2.1 + 0.3 * len(packed_rows), *([_CAPACITY_HEIGHT] if network.capacities else []), 0.35]
    axes = figure.subplots(len(heights), 1, height_ratios=heights)
    _draw_network(axes[0], network, packed_rows)
    if network.capacities:
        _draw_capacities(axes[1], network)
    axes[0].set_title(title, loc="left", fontsize=10)
    if (queue := network.common_queue) is not None:
        axes[0].set_title(f"queues: {queue}", loc="right", fontsize=9, color=_GREY)
    _draw_time(axes[-1], network)


def _draw_network(axis: Axes, network: Topology, packed_rows: Sequence[Sequence[SenderView]]) -> None:
    """Draw the network: one horizontal unit is a link, one vertical unit a row of senders."""
    queue = network.common_queue
    slowest = min(link.rate_bps for link in network.links)
    for number, link in enumerate(network.links, start=1):
        # A link of twice the rate is 1.5 points thicker.
        thickness = min(9.0, 2 + 1.5 * math.log2(link.rate_bps / slowest))
        style = (0, (3, 1)) if link.varies else "-"
        axis.plot([number, number + 1], [0, 0], color=_LINK, linewidth=thickness, linestyle=style, zorder=1)
        rate_position, text_position = (number + 0.5, 0.35), (number + 0.5, -0.4)
        axis.annotate(link.rates, rate_position, ha="center", va="bottom", fontsize=9, fontweight="bold")
        changes = f", {len(link.rate_changes):,} changes" if link.rate_changes else ""
        fifo = f"\nFIFO {link.device_fifo:,}" if link.device_fifo else ""
        queue_text = "\n" + "\n".join(textwrap.wrap(link.queue, 28)) if queue is None else ""
        text = f"{link.delay}{changes}{fifo}{queue_text}"
        axis.annotate(text, text_position, ha="center", va="top", fontsize=9, color=_GREY, linespacing=1.25)
    for number in range(1, len(network.links) + 2):
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": _LINK, "linewidth": 1.2}
        axis.annotate(f"R{number}", (number, 0), ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    queue_lines = 0 if queue else max(len(textwrap.wrap(link.queue, 28)) for link in network.links)
    lines = 1 + any(link.device_fifo for link in network.links) + queue_lines
    top = 1.1 + 0.5 * lines
    for index, row in enumerate(packed_rows):
        for sender in row:
            _draw_sender(axis, sender, -top - index)
    for number in range(1, len(network.links) + 2):
        axis.plot([number] * 2, [-0.5, -top - len(packed_rows) + 0.5], color="#dddddd", linewidth=0.7, zorder=0)
    axis.set(xlim=(0.7, len(network.links) + 1.3), ylim=(-top - len(packed_rows) + 0.2, 1.1))
    axis.set_axis_off()


def _draw_sender(axis: Axes, sender: SenderView, y: float) -> None:
    colour = _COLOURS.get(sender.kind, _OTHER)
    first, last = (sender.path[0] + 0.06, sender.path[1] - 0.06)
    heads = {0: "-|>", 1: "<|-", None: "<|-|>"}[sender.direction]
    arrow = {"arrowstyle": f"{heads},head_width=0.22,head_length=0.4", "color": colour, "linewidth": 1.6}
    axis.annotate("", (last, y), (first, y), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0}, zorder=2)
    max_length = round(17 * (last - first))
    label = sender.label if len(sender.label) <= max_length else f"{sender.name[: max_length - 1]}…"
    name = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"}
    middle = (first + last) / 2
    axis.annotate(
        label,
        (middle, y),
        ha="center",
        va="center",
        fontsize=9,
        bbox=name,
        zorder=3,
    )


def _draw_capacities(axis: Axes, network: Topology) -> None:
    """Draw the capacities that vary over the time axis below."""
    for number, capacity in enumerate(network.capacities):
        colour = canvas.PALETTE[number % len(canvas.PALETTE)]
        axis.stairs(capacity.mbps, capacity.edges_s, baseline=None, color=colour, linewidth=1.2, label=capacity.name)
    axis.tick_params(labelsize=9, labelbottom=False)
    axis.set(xlim=(0, network.warmup_s + network.duration_s), ylim=(0, None))
    axis.set_ylabel("capacity, Mbit/s", fontsize=9)
    axis.legend(fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)


def _draw_time(axis: Axes, network: Topology) -> None:
    warmup, duration = network.warmup_s, network.duration_s
    unit, unit_name = (60.0, "min") if warmup + duration >= 600 else (1.0, "s")
    axis.barh(0, warmup / unit, color="#e5e5e5")
    axis.barh(0, duration / unit, left=warmup / unit, color="#A6D3F0")
    for start, length, name in ((0.0, warmup, "warm-up"), (warmup, duration, "measured")):
        if length > 0.08 * (warmup + duration):
            axis.annotate(name, ((start + length / 2) / unit, 0), ha="center", va="center", fontsize=9)
    for link in network.links:
        for time_s in link.rate_changes_s[:100]:
            axis.axvline(time_s / unit, color=_LINK, linewidth=0.8, linestyle="--")
    axis.tick_params(labelsize=9)
    axis.set(xlim=(0, (warmup + duration) / unit), xlabel=f"time, {unit_name}", yticks=[])
    axis.spines["left"].set_visible(False)
    axis.grid(visible=False)
