"""Capacities of links over time: the bits that a direction could have sent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aqmlab._core import Link

_Floats = NDArray[np.float64]


def sendable_bits(link: Link, direction: int, seed: int, until_s: float) -> tuple[_Floats, _Floats]:
    """Return times in seconds from 0 to ``until_s`` at least, and the bits that the link can send until each of them.

    Between these times its rate is constant, so that bits are linear. Frames' overhead is included.
    """
    changes = link.drain_rates(direction, until_s, seed)
    starts, rates = (np.array(column, dtype=float) for column in zip(*changes, strict=True))
    times = np.append(starts, max(until_s, starts[-1]))
    return times, np.append(0.0, np.cumsum(rates * np.diff(times)))


def mean_mbps(link: Link, direction: int, seed: int, edges_s: _Floats) -> _Floats:
    """Return the mean rates in Mbit/s between each two of ``edges_s``, in order of time."""
    times, bits = sendable_bits(link, direction, seed, float(edges_s[-1]))
    return np.asarray(np.diff(np.interp(edges_s, times, bits)) / np.diff(edges_s) / 1e6)
