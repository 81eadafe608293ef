"""Results as figures of your own: functions that draw frames by scheme on an axis of matplotlib's, and return it.

Colours and dashes are those of all other figures, the same for one list of schemes; ``uncongested`` is thin and black.

>>> import aqmlab as lab
>>> lab.plot.cdf(comparison.response_times(), axis)  # doctest: +SKIP
>>> lab.plot.bars(comparison.intervals("loss_percent"), axis).set_xlabel("loss, %")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
from matplotlib.axes import Axes

from aqmlab.results import plot
from aqmlab.results.cells import BASELINE
from aqmlab.show.canvas import LineStyles, name_from_top, name_lines

__all__ = ["against", "bars", "ccdf", "cdf", "density", "difference", "ellipse", "queue", "slowdown", "trace"]


def cdf(curves: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw the share of requests answered within a time.

    Parameters
    ----------
    curves
        Frames of ``time_ms`` and ``fraction``, such as ``comparison.response_times()`` or those of :func:`aqmlab.cdf`.
    axis
        Where to draw.
    """
    return plot.response_time_cdf(axis, curves, _styles(curves))


def ccdf(curves: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw the share of requests that take longer than a time, on logarithmic axes.

    The parameters are those of :func:`cdf`.
    """
    return plot.response_time_ccdf(axis, curves, _styles(curves))


def difference(bands: Mapping[str, pl.DataFrame], axis: Axes, *, to: str) -> Axes:
    """Draw how many more requests are answered within a time than under the scheme ``to``, each with its band.

    Parameters
    ----------
    bands
        Frames as :func:`aqmlab.difference_band` gives them, such as ``comparison.response_time_differences()``.
    axis
        Where to draw.
    to
        The scheme that they are compared with, such as ``comparison.first``.
    """
    return plot.response_time_difference(axis, bands, _styles((to, *bands)), to)


def bars(intervals: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw a bar for each scheme, and a line over its interval where there is one.

    Parameters
    ----------
    intervals
        Frames of one row with ``mean``, ``low`` and ``high``, such as ``comparison.intervals("loss_percent")``; without
        a row there is no bar.
    axis
        Where to draw.
    """
    return plot.bars(axis, intervals, _styles(intervals))


def slowdown(curves: Mapping[str, pl.DataFrame], axis: Axes, *, quantile: str = "p50") -> Axes:
    """Draw how many times as long requests take as on the uncongested network, over the size of the response.

    Parameters
    ----------
    curves
        Frames such as ``comparison.slowdowns()``.
    axis
        Where to draw.
    quantile
        Of the slowdowns of requests of one size: ``"p50"``, ``"p90"`` or ``"p99"``.
    """
    return plot.slowdowns(axis, curves, _styles(curves), quantile)


def queue(curves: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw the mean queueing delay over time, each with a band from the least to the most.

    Parameters
    ----------
    curves
        Frames such as ``comparison.queues(direction=1)``.
    axis
        Where to draw.
    """
    plot.delay_over_time(axis, curves, _styles(curves))
    axis.set(xlabel="time since the start, s", ylabel="queueing delay, ms")
    return name_from_top(axis)


def ellipse(points: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw queueing delay and throughput together: the ellipse of one standard deviation, with its centre.

    Better is up and to the left (RFC 7928, section 2.7, after Winstein and Balakrishnan, SIGCOMM 2013).

    Parameters
    ----------
    points
        Frames such as ``comparison.delay_and_throughput(direction=1)``.
    axis
        Where to draw.
    """
    plot.ellipses(axis, points, _styles(points))
    axis.set(xlabel="queueing delay, ms", ylabel="throughput, Mbit/s")
    name_lines(axis, axis.get_lines(), colour="markerfacecolor")
    return axis


def against(curves: Mapping[str, pl.DataFrame], axis: Axes, *, dots: float = 4) -> Axes:
    """Draw one number against another, such as the loss against the load, with a line over each interval there is.

    Parameters
    ----------
    curves
        Frames of ``x`` and ``y``; where they have them, ``low`` and ``high`` are the ends of an interval of ``y``, and
        ``left`` and ``right`` of one of ``x``.
    axis
        Where to draw.
    dots
        The size of the dot at each point, in points; nought draws none.

    Examples
    --------
    >>> import aqmlab as lab
    >>> import polars as pl
    >>> from matplotlib.figure import Figure
    >>> loss = pl.DataFrame({"x": [90, 98], "y": [0.4, 1.3], "low": [0.3, 1.1], "high": [0.5, 1.5]})
    >>> axis = lab.plot.against({"pi": loss}, Figure().subplots())
    >>> [text.get_text() for text in axis.get_legend().get_texts()]
    ['pi']
    """
    return name_from_top(plot.against(axis, curves, _styles(curves), dots))


def trace(samples: pl.DataFrame, axis: Axes) -> Axes:
    """Draw one queue over time as a surface, and the average that its law keeps as a line.

    Parameters
    ----------
    samples
        A row for each, of ``time_s`` and ``queue``, and of ``average`` where the law keeps one; in any unit.
    axis
        Where to draw.
    """
    plot.trace(axis, samples).set_xlabel("time since the start, s")
    name_lines(axis, axis.get_lines())
    return axis


def density(exchanges: pl.DataFrame, axis: Axes) -> Axes:
    """Draw how many requests have which size of the response and which response time, up to 100 kB and 14 s.

    Parameters
    ----------
    exchanges
        A row for each request, such as ``result.exchanges``.
    axis
        Where to draw; a colour bar stands beside it.
    """
    image = plot.density(axis, exchanges.lazy())
    axis.figure.colorbar(image, ax=axis, label=plot.DENSITY)
    return axis


def _styles(labels: Iterable[str]) -> LineStyles:
    styles = LineStyles(BASELINE)
    styles.together(labels)
    return styles
