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


def differ(mbps: _Floats) -> bool:
    """Return whether rates differ by more than their rounding."""
    return bool(np.ptp(mbps) > 1e-6 * mbps.max())


class SendableBits:
    """The bits that a direction can send between two times, computed no further than twice the times asked for."""

    def __init__(self, link: Link, direction: int, seed: int) -> None:
        self._link, self._direction, self._seed = link, direction, seed
        self._times = self._bits = np.zeros(1)

    def between(self, start_s: float, end_s: float) -> float:
        """Return the bits between two times in seconds."""
        if end_s > self._times[-1]:
            # Rates that are drawn are drawn from the start each time.
            self._times, self._bits = sendable_bits(self._link, self._direction, self._seed, 2 * end_s)
        return float(np.diff(np.interp((start_s, end_s), self._times, self._bits))[0])
