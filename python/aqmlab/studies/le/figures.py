"""The figures of Le et al. (2003, 2004), drawn from our results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray

from aqmlab import data_file, stats
from aqmlab._core import seconds
from aqmlab.calibration import plot as calibration_plot
from aqmlab.cells import calibration_model
from aqmlab.results.figures import charts, plot
from aqmlab.store.result import Result
from aqmlab.studies.kit.measures import loss_percent, throughput_mbps
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.le.published import Published
from aqmlab.studies.le.schemes import UNCONGESTED, WORKLOAD, PaperScheme
from aqmlab.studies.le.workload import ResponseSizes, drawn_round_trips, input_round_trips, share_above
from aqmlab.ui.canvas import PALETTE, LineStyles, label_lines, legend_right

_Floats = NDArray[np.float64]

_PANEL = {1: (8.0, 4.0), 2: (10.0, 4.6), 3: (12.0, 4.6)}
"""Inches, by the number of panels."""


@dataclass(frozen=True, kw_only=True)
class ResponseTimes:
    """A figure of a paper's ``figures.toml``."""

    name: str
    caption: str
    schemes: tuple[str, ...]
    """The labels of the schemes; the uncongested network is in each figure."""
    loads: tuple[int, ...]
    """The loads, one for each panel."""
    rtt: str = "uniform"
    tail: bool = False
    """True for the complementary distribution (CCDF) on logarithmic axes."""


def response_times(
    results: StudyResults, styles: LineStyles, package: str, schemes: Iterable[PaperScheme]
) -> list[Figure]:
    """Return the response-time distributions of a paper, whose package has the ``figures.toml``."""
    by_label = {scheme.label: scheme for scheme in schemes}
    written = data_file.read(files(package) / "figures.toml", dict[str, tuple[ResponseTimes, ...]])["figure"]
    return [_distributions(results, styles, one, [by_label[label] for label in one.schemes]) for one in written]


def _distributions(
    results: StudyResults, styles: LineStyles, figure: ResponseTimes, schemes: Sequence[PaperScheme]
) -> Figure:
    styles.share_styles(scheme.label for scheme in schemes)
    chart = charts.CCDF if figure.tail else charts.CDF

    def draw(canvas: Canvas) -> None:
        axes = _panels(canvas, len(figure.loads))
        for axis, load in zip(axes, figure.loads, strict=True):
            curves = {
                scheme.label: stats.cdf(
                    pl.concat([result.response_time_bins for result in results[scheme.at(load, figure.rtt)]])
                )
                for scheme in (UNCONGESTED, *schemes)
            }
            label_lines(plot.lines(axis, chart, curves, styles))
            if len(figure.loads) > 1:
                axis.set_title(f"{load} % load", loc="left", fontsize=10)
        if len(figure.loads) > 1:
            _side_by_side(canvas, axes)

    return Figure(name=figure.name, caption=figure.caption, draw=draw, size=_PANEL[len(figure.loads)])


def users(name: str, rtts: Sequence[str]) -> Figure:
    """Return the throughput of the uncongested network over the number of users."""

    def draw(canvas: Canvas) -> None:
        axes = _panels(canvas, len(rtts))
        for axis, rtt in zip(axes, rtts, strict=True):
            calibration_plot.line(axis, calibration_model.load_calibrations()[WORKLOAD, rtt, 2])
            axis.set_title(f"{rtt} round-trip times", loc="left", fontsize=10)
        for axis in axes[1:]:
            axis.set_ylabel("")

    caption = (
        "Throughput of the uncongested network over the number of users: measurements of the calibration, its line,"
        " and the papers' number of users for 100 Mbit/s."
    )
    return Figure(name=name, caption=caption, draw=draw, size=_PANEL[len(rtts)])


def response_sizes(name: str, result: Result) -> Figure:
    """Return the response sizes generated beside those of the workload's tables, as CDF and as CCDF."""

    def draw(canvas: Canvas) -> None:
        body, tail = canvas.subplots(1, 2)
        sizes = ResponseSizes.of(result)
        at = np.geomspace(50, 1e9, 600)
        above = {"tables of the workload": sizes.share_above(at), "generated": share_above(sizes.generated, at)}
        _body_and_tail(body, tail, at, above, "response size, bytes")
        body.set(xscale="log", xlim=(50, 1e6))
        tail.set(xlim=(1e3, 1e9), ylim=(1e-6, 100))
        tail.axvline(sizes.cap, color="#999999", linewidth=0.8, linestyle=":")
        tail.annotate(
            f"{sizes.cap:,} B", (sizes.cap, 30), (4, 0), textcoords="offset points", fontsize=9, color="#666666"
        )

    caption = (
        "Response sizes: the tables of the workload, and the responses of one run. Persistent connections draw sizes"
        " above the dotted line again, so that fewer of them are generated."
    )
    return Figure(name=name, caption=caption, draw=draw, size=_PANEL[2])


def round_trips(name: str, result: Result) -> Figure:
    """Return the general round-trip times that connections had beside the table they are drawn from."""

    def draw(canvas: Canvas) -> None:
        body, tail = canvas.subplots(1, 2)
        at = np.geomspace(1, 1e5, 600)
        above = {
            "table": input_round_trips(result).share_above(at),
            "drawn": share_above(drawn_round_trips(result), at),
        }
        _body_and_tail(body, tail, at, above, "minimum round-trip time, ms")
        body.set(xlim=(0, 500))
        tail.set(xlim=(10, 1e5), ylim=(1e-3, 100))

    caption = (
        "General minimum round-trip times: the table, and those of connections. The latter are half the response times"
        " of small responses to the only request of a connection. They are from the uncongested network and include a"
        " millisecond of the link's and the hosts' delays."
    )
    return Figure(name=name, caption=caption, draw=draw, size=_PANEL[2])


def rem_periods(
    results: StudyResults,
    name: str,
    periods: Sequence[str],
    every: Mapping[int, Sequence[PaperScheme]],
    loads: Sequence[int],
) -> Figure:
    """Return REM's loss and throughput over its period, by target and load, with the published rows."""
    published = {
        (row.scheme, row.load_percent): (row.loss_percent, row.throughput_mbps)
        for row in Published.read().rows
        if row.table == "le2003-t2"
    }
    times_ms = [1e3 * seconds(period) for period in periods]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(1, 2)
        for n, (target, load) in enumerate((target, load) for target in every for load in loads):
            schemes = every[target]
            # The other periods have one seed, so that the usual one takes its first.
            ours = [results[scheme.at(load)][0] for scheme in schemes]
            (theirs,) = (published[scheme.text, load] for scheme in schemes if (scheme.text, load) in published)
            for axis, measure, paper in zip(axes, (loss_percent, throughput_mbps), theirs, strict=True):
                label = f"{target} packets, {load} %"
                curve = pl.DataFrame({"x": times_ms, "y": [measure(result) for result in ours]})
                plot.xy(axis, {label: curve}, {label: {"color": PALETTE[n]}}, 6)
                axis.axhline(paper, color=PALETTE[n], linewidth=0.8, linestyle=":")
        for axis, quantity in zip(axes, ("loss, %", "throughput, Mbit/s"), strict=True):
            axis.set(xlabel="REM's period, ms", ylabel=quantity, xscale="log", xticks=times_ms)
            axis.set_xticklabels([f"{time:g}" for time in times_ms])
            axis.minorticks_off()
        legend_right(axes[1], axes[1].get_lines()[::2])

    caption = (
        "Loss and throughput of REM with dropped packets over its period, which the paper does not give; one"
        " repetition each. Dotted: the paper's table 2. The study uses the period of the kernel's clock, 1 ms."
    )
    return Figure(name=name, caption=caption, draw=draw, size=_PANEL[2])


def scatter(results: StudyResults, name: str, caption: str, schemes: Iterable[PaperScheme], load: int) -> Figure:
    """Return the response time over the response size of every request as a density, a panel for each scheme."""
    panels = {scheme.label: results[scheme.recorded_at(load)][0] for scheme in schemes}

    def draw(canvas: Canvas) -> None:
        axes = _panels(canvas, len(panels))
        image = None
        for axis, (label, result) in zip(axes, panels.items(), strict=True):
            image = plot.density(axis, pl.scan_parquet(result.file("exchanges")))
            axis.set_title(label, loc="left", fontsize=10)
            axis.set_ylabel("")
        axes[0].set_ylabel("response time, s")
        if image is not None:
            canvas.colorbar(image, ax=axes, label=plot.DENSITY, pad=0.01)

    return Figure(name=name, caption=caption, draw=draw, size=(11, 5))


def _body_and_tail(body: Axes, tail: Axes, at: _Floats, above: Mapping[str, _Floats], quantity: str) -> None:
    for n, (label, share) in enumerate(above.items()):
        styles = {label: {"color": ("black", PALETTE[1])[n], "linewidth": (0.8, 1.6)[n], "zorder": 3 - n}}
        plot.xy(body, {label: pl.DataFrame({"x": at, "y": 100 * (1 - share)})}, styles)
        plot.xy(tail, {label: pl.DataFrame({"x": at, "y": 100 * share})}, styles)
    body.set(xlabel=quantity, ylabel="at most so much, %", ylim=(0, 100))
    tail.set(xlabel=quantity, ylabel="more, %", xscale="log", yscale="log")
    legend_right(tail, tail.get_lines()[: len(above)])


def _panels(canvas: Canvas, number: int) -> Sequence[Axes]:
    panels: Sequence[Axes] = canvas.subplots(1, number, sharey=True, squeeze=False, gridspec_kw={"wspace": 0.08})[0]
    return panels


def _side_by_side(canvas: Canvas, axes: Sequence[Axes]) -> None:
    """Give panels with the same curves a common legend and room for their ticks."""
    handles: list[Any] = []
    for axis in axes:
        if (legend := axis.get_legend()) is not None:
            # In the order of the lines in the last panel, next to which the legend is.
            handles = legend.legend_handles
            legend.remove()
        axis.set_xticks(range(0, 2001, 500))
    for axis in axes[1:]:
        axis.set_ylabel("")
    legend_right(canvas, handles)
