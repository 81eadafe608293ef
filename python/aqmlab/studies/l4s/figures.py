"""The figures of the study: shares of Prague over the matrix, and its delays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from aqmlab.results.figures import plot
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.l4s import measures
from aqmlab.studies.l4s.matrix import (
    BASE,
    BESIDE_PRAGUE,
    BUFFERS,
    CUBIC,
    MIXES,
    PRAGUE,
    QUEUES,
    ROUND_TRIPS,
    SLOW,
    Case,
    Point,
    Traffic,
    pair,
)
from aqmlab.studies.l4s.tables import interval
from aqmlab.ui.canvas import PALETTE, legend_right


def figures(results: StudyResults) -> Sequence[Figure]:
    """Return the figures."""
    return [
        Figure(
            name="matrix",
            caption="Share of a Prague flow beside a CUBIC flow, %: means over the seeds. From the left: five buffers"
            " at 100 Mbit/s and 10 ms, other round trips (Prague's first), mixes of Prague and CUBIC flows, and"
            " 10 Mbit/s. DualPI2 has one buffer.",
            draw=partial(_matrix, results=results),
            size=(9, 5),
        ),
        Figure(
            name="delays",
            caption="Mean queueing delay of Prague's packets (dots) with its 95 % interval, beside each Classic flow,"
            " at 100 Mbit/s, 10 ms and 2 BDP. Grey: 1 ms.",
            draw=partial(_delays, results=results),
            size=(9, 4),
        ),
    ]


def _columns() -> list[tuple[str, Traffic, Point]]:
    beside = pair(PRAGUE, CUBIC)
    buffers = sorted((BASE, *BUFFERS), key=lambda point: point.buffer_bdp)
    return [
        *((f"{point.buffer_bdp:g} BDP", beside, point) for point in buffers),
        *((" / ".join(map(str, dict.fromkeys(point.rtts_ms))) + " ms", beside, point) for point in ROUND_TRIPS),
        *((f"{l4s} to {classic}", pair(PRAGUE, CUBIC, (l4s, classic)), BASE) for l4s, classic in MIXES),
        (f"{SLOW.rate_mbps} Mbit/s", beside, SLOW),
    ]


def _matrix(canvas: Canvas, results: StudyResults) -> None:
    columns = _columns()
    shares = pl.DataFrame(
        {"point": str(number), "queue": row, "share": interval(results, case, measures.share_percent)[0]}
        for row, queue in enumerate(QUEUES)
        for number, (_, traffic, point) in enumerate(columns)
        if (case := Case(traffic=traffic, queue=queue, point=point)).name in results
    )
    axis = canvas.subplots()
    # Bounds beyond 0 and 100 % keep the colours light enough for the numbers.
    plot.heatmap(axis, shares, x="point", y="queue", value="share", cmap="RdYlBu", vmin=-20, vmax=120)
    for point, queue, share in shares.iter_rows():
        middle = (int(point) + 0.5, int(queue) + 0.5)
        axis.annotate(f"{share:.0f}", middle, ha="center", va="center", fontsize=7, color="black")
    _label(axis, [label for label, *_ in columns])


def _label(axis: Axes, columns: Sequence[str]) -> None:
    axis.set_xticks([tick + 0.5 for tick in range(len(columns))], columns, rotation=45, ha="right", fontsize=8)
    axis.set_yticks([tick + 0.5 for tick in range(len(QUEUES))], [queue.name for queue in QUEUES], fontsize=8)
    axis.set(xlabel="", ylabel="")
    axis.invert_yaxis()


def _delays(canvas: Canvas, results: StudyResults) -> None:
    axis = canvas.subplots()
    axis.axhline(1, color="#8c8c8c", linewidth=0.8)
    curves, styles = {}, {}
    for number, traffic in enumerate(BESIDE_PRAGUE):
        label = f"beside {traffic.controls[1]}"
        read = [
            interval(results, Case(traffic=traffic, queue=queue, point=BASE), measures.delay_ms(PRAGUE, "mean"))
            for queue in QUEUES
        ]
        curves[label] = pl.DataFrame(
            {"x": place + 0.2 * (number - 1), "y": mean, "low": mean - half, "high": mean + half}
            for place, (mean, half) in enumerate(read)
        )
        styles[label] = {"color": PALETTE[number], "linestyle": "none"}
    plot.xy(axis, curves, styles, 4)
    axis.set(ylabel="delay of Prague, ms", yscale="log")
    axis.set_xticks(range(len(QUEUES)), [queue.name for queue in QUEUES], rotation=30, ha="right", fontsize=8)
    axis.grid(visible=False, axis="x")
    legend_right(axis, axis.get_lines()[1:])
