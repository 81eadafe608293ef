"""The figures of the study: response times of groups of schemes, and page load times over the load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from aqmlab import stats
from aqmlab.results.figures import charts, plot
from aqmlab.studies.kit.findings import mean_and_half
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.le2025 import schemes
from aqmlab.studies.le2025.claims import PAGE
from aqmlab.studies.le2025.schemes import CONGESTED, NOW, THEN, UNCONGESTED, StudyLink, StudyScheme
from aqmlab.ui.canvas import LineStyles, label_lines, legend_right

_DROPTAIL_50 = schemes.DROPTAILS[1]


@dataclass(frozen=True, kw_only=True)
class _ResponseTimes:
    """Distributions of response times on a link, a panel for each load."""

    name: str
    subject: str
    link: StudyLink
    shown: tuple[StudyScheme, ...]
    loads: tuple[int, ...] = CONGESTED


_FIGURES = (
    _ResponseTimes(
        name="signals",
        subject="PI and REM with and without ECN, and FQ-CoDel and CAKE without",
        link=THEN,
        shown=(_DROPTAIL_50, *schemes.PI, *schemes.REM, schemes.FQ_CODEL[0], schemes.CAKE[0]),
    ),
    _ResponseTimes(
        name="today",
        subject="Disciplines of today without ECN, and DualPI2 with L4S hosts",
        link=THEN,
        shown=(_DROPTAIL_50, *schemes.OF_TODAY[::2], schemes.L4S),
    ),
    _ResponseTimes(
        name="modes",
        subject="ARED in packet and in byte mode, and PI with ECN",
        link=THEN,
        shown=(*schemes.ARED_PACKET, *schemes.ARED_BYTE, schemes.PI[1]),
    ),
    _ResponseTimes(name="buffers", subject="Drop-tail with three buffers", link=THEN, shown=schemes.DROPTAILS),
    _ResponseTimes(
        name="now",
        subject="Drop-tail and disciplines of today without ECN, and DualPI2 with L4S hosts",
        link=NOW,
        shown=(*schemes.DROPTAILS[1:], *schemes.OF_TODAY[::2], schemes.L4S),
    ),
)

_OVER_LOAD = (*schemes.DROPTAILS, schemes.PI[1], schemes.PIE[0], schemes.FQ_CODEL[0], schemes.CAKE[0], schemes.L4S)
"""The schemes of the figure of page load times."""


def figures(results: StudyResults, links: Iterable[StudyLink]) -> Sequence[Figure]:
    """Return the figures of these links."""
    styles, given = LineStyles(UNCONGESTED.label), tuple(links)
    for figure in _FIGURES:
        styles.share_styles(scheme.label for scheme in figure.shown)
    styles.share_styles(scheme.label for scheme in _OVER_LOAD)
    pages = Figure(
        name="pages_by_load",
        caption="Median page load time over the load, on the link of then: mean over the seeds, with its 95 %"
        " interval.",
        draw=partial(_pages, results=results, styles=styles),
        size=(8, 4.5),
    )
    return [
        *(
            Figure(
                name=figure.name,
                caption=f"{figure.subject}: requests answered within a time, on the link of {figure.link.name}.",
                draw=partial(_distributions, results=results, styles=styles, figure=figure),
                size=(12, 4.6),
            )
            for figure in _FIGURES
            if figure.link in given
        ),
        *([pages] if THEN in given else []),
    ]


def _distributions(canvas: Canvas, results: StudyResults, styles: LineStyles, figure: _ResponseTimes) -> None:
    panels: Sequence[Axes] = canvas.subplots(1, len(figure.loads), sharey=True, gridspec_kw={"wspace": 0.08})
    for axis, load in zip(panels, figure.loads, strict=True):
        curves = {
            scheme.label: stats.cdf(
                pl.concat([result.response_time_bins for result in results[scheme.at(load, figure.link)]])
            )
            for scheme in (UNCONGESTED, *figure.shown)
        }
        label_lines(plot.lines(axis, charts.CDF, curves, styles))
        axis.set_title(f"{load} % load", loc="left", fontsize=10)
        axis.set_xticks(range(0, 2001, 500))
    for axis in panels[1:]:
        axis.set_ylabel("")
    # In the order of the lines in the last panel, next to which the legend is.
    *_, legend = [axis.get_legend() for axis in panels]
    handles = [] if legend is None else [handle for handle in legend.legend_handles if handle is not None]
    for axis in panels:
        if (of_panel := axis.get_legend()) is not None:
            of_panel.remove()
    legend_right(canvas, handles)


def _pages(canvas: Canvas, results: StudyResults, styles: LineStyles) -> None:
    axis = canvas.subplots()
    curves = {}
    for scheme in (UNCONGESTED, *_OVER_LOAD):
        numbers = {
            load: mean_and_half([PAGE.measure(result) for result in results[scheme.at(load, THEN)]])
            for load in THEN.loads
        }
        curves[scheme.label] = pl.DataFrame(
            {"x": load, "y": mean, "low": mean - half, "high": mean + half} for load, (mean, half) in numbers.items()
        )
    plot.xy(axis, curves, {label: styles[label] for label in curves}, 3)
    axis.set(xlabel="load, %", ylabel="median page load time, s", ylim=(0, None))
    label_lines(axis)
