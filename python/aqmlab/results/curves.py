"""Distances between distributions of response times, measured as curves in a figure's frame.

The frame extends from 0 to 2,000 ms and from 0 to 100 % of the requests, as in all papers here. A distance is in
percent of the frame, as on paper. It therefore agrees with a reader's impression both where a curve is flat and where
it is steep, so that 2 points of the requests are 5 ms. Curves are sampled evenly along the axis: half of the points of
a geometric grid would be in a tenth of the plot.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from aqmlab import stats
from aqmlab.store.result import Result

_Floats = NDArray[np.float64]

AXIS_MS = 2000.0
"""The end of the time axis."""

_STEP_MS = 5.0


@cache
def shares_percent(result: Result) -> tuple[_Floats, _Floats]:
    """Return times along the axis in ms, and the share of the requests that are answered within each, in percent."""
    times = np.arange(0, AXIS_MS + _STEP_MS / 2, _STEP_MS)
    return times, 100 * np.array(stats.shares_within(result.response_time_bins, times.tolist()))


@cache
def mean_excess(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return the mean of the first curve minus the second over a range of times, in percentage points."""
    times, shares = shares_percent(one)
    is_inside = (from_ms <= times) & (times <= to_ms)
    return float((shares - shares_percent(other)[1])[is_inside].mean())


@cache
def distance(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return the Hausdorff distance between two curves over a range of times, in percent of the frame.

    Points in the range are compared with the whole other curve, so that the ends of the range have no effect.
    """
    times, shares = shares_percent(one)
    others = shares_percent(other)[1]
    is_inside = (from_ms <= times) & (times <= to_ms)
    return max(_max_distance(times, shares, others, is_inside), _max_distance(times, others, shares, is_inside))


@cache
def max_shortfall(one: Result, other: Result, from_ms: float, to_ms: float) -> float:
    """Return the first curve's largest distance below the second over a range of times, in percent of the frame."""
    times, shares = shares_percent(one)
    others = shares_percent(other)[1]
    # Negated, so that NaN counts as below.
    return _max_distance(times, shares, others, (from_ms <= times) & (times <= to_ms) & ~(shares >= others))


def _max_distance(times: _Floats, shares: _Floats, others: _Floats, is_inside: NDArray[np.bool_]) -> float:
    """Return the largest distance of the selected points of a curve from another curve; 0 without such points."""
    points = np.column_stack((100 * times / AXIS_MS, shares))[is_inside]
    line = np.column_stack((100 * times / AXIS_MS, others))
    return float(_distances_to_line(points, line).max()) if is_inside.any() else 0.0


def _distances_to_line(points: _Floats, line: _Floats) -> _Floats:
    """Return the distance of each point from the nearest segment of a line."""
    start, segment = line[:-1], np.diff(line, axis=0)
    offset = points[:, None, :] - start
    # The position of the nearest point on its segment, from 0 to 1.
    position = np.clip((offset * segment).sum(axis=2) / (segment**2).sum(axis=1), 0, 1)
    distances = np.linalg.norm(offset - position[:, :, None] * segment, axis=2)
    nearest: _Floats = distances.min(axis=1)
    return nearest
