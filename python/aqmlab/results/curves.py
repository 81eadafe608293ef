"""Distributions of response times as a reader sees them: curves in a figure's frame, and the distances between them.

The frame has both axes scaled to what is plotted: 0 to 2,000 ms and 0 to 100 % of the requests, as in all papers here.
A distance in it is that of ink on paper, in percent of the frame: on the steep part of a curve, where 2 points of the
requests are 5 ms, it counts what a reader can see, and so it does where a curve is flat. Curves are sampled evenly
along the axis, not on a geometric grid, half of whose points would lie in a tenth of the plot.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from aqmlab import stats
from aqmlab.store.result import Result

_Floats = NDArray[np.float64]

AXIS_MS = 2000.0
"""Where the time axis ends."""

_STEP_MS = 5.0


@cache
def shares_percent(result: Result) -> tuple[_Floats, _Floats]:
    """Return times along the axis in ms, and the share of the requests that are answered within each, in percent."""
    times = np.arange(0, AXIS_MS + _STEP_MS / 2, _STEP_MS)
    return times, 100 * np.array(stats.shares_within(result.response_time_bins, times.tolist()))


@cache
def above(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return by how many percentage points the first curve is above the second, averaged over a range of times."""
    times, shares = shares_percent(one)
    seen = (from_ms <= times) & (times <= to_ms)
    return float((shares - shares_percent(other)[1])[seen].mean())


@cache
def apart(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return the Hausdorff distance of two curves over a range of times, in percent of the frame.

    Points of the range are compared with the whole of the other curve, so that an end of the range is no end of a line.
    """
    times, shares = shares_percent(one)
    others = shares_percent(other)[1]
    seen = (from_ms <= times) & (times <= to_ms)
    return max(_max_distance(times, shares, others, seen), _max_distance(times, others, shares, seen))


@cache
def below(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return how far the first curve gets below the second over a range of times, in percent of the frame."""
    times, shares = shares_percent(one)
    others = shares_percent(other)[1]
    # What is not a number is not above.
    return _max_distance(times, shares, others, (from_ms <= times) & (times <= to_ms) & ~(shares >= others))


def _max_distance(times: _Floats, shares: _Floats, others: _Floats, seen: NDArray[np.bool_]) -> float:
    """Return how far one of the points seen of a curve is from another curve at most; 0 where none is seen."""
    points = np.column_stack((100 * times / AXIS_MS, shares))[seen]
    line = np.column_stack((100 * times / AXIS_MS, others))
    return float(_to_line(points, line).max()) if seen.any() else 0.0


def _to_line(points: _Floats, line: _Floats) -> _Floats:
    """Return the distance of each point to the nearest of a line's pieces."""
    start, along = line[:-1], np.diff(line, axis=0)
    between = points[:, None, :] - start
    # How far along its piece the nearest point is, from 0 to 1.
    where = np.clip((between * along).sum(axis=2) / (along**2).sum(axis=1), 0, 1)
    distances = np.linalg.norm(between - where[:, :, None] * along, axis=2)
    nearest: _Floats = distances.min(axis=1)
    return nearest
