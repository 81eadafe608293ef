"""A trace: rates over time, over and over, and the delivery opportunities of Mahimahi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

OPPORTUNITY_BITS = 8 * 1504
"""The bits of an opportunity of Mahimahi (``PACKET_SIZE`` of its ``link_queue.hh``)."""

MOST_OPPORTUNITIES = 1_000_000
"""The longest trace that the engine reads."""

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Rates over time: each holds from its time on, and the last one as long as the one before it."""

    seconds: tuple[float, ...]
    mbps: tuple[float, ...]
    path: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    """The columns ``delay_ms`` and ``loss``, where it has them."""

    @property
    def period_s(self) -> float:
        """The time after which the trace begins again: that of the engine, 1 s for a single row."""
        return 2 * self.seconds[-1] - self.seconds[-2] if len(self.seconds) > 1 else 1.0

    @property
    def mean_mbps(self) -> float:
        """The mean rate over a period."""
        return float(self._megabits()[-1]) / self.period_s

    def megabits_until(self, seconds: _Floats) -> _Floats:
        """Return the megabits that can be sent until each of these times of the first period."""
        edges = np.append(self.seconds, self.period_s)
        megabits: _Floats = np.interp(seconds, edges, self._megabits())
        return megabits

    def means(self, number: int) -> _Floats:
        """Return the mean rates in this number of equal parts of a period."""
        edges = np.linspace(0.0, self.period_s, number + 1)
        means: _Floats = np.diff(self.megabits_until(edges)) * number / self.period_s
        return means

    def summary(self) -> dict[str, Any]:
        """Return the numbers that describe the trace."""
        lengths = np.diff(np.append(self.seconds, self.period_s))
        rates = np.array(self.mbps)
        order = np.argsort(rates, kind="stable")
        half = np.searchsorted(np.cumsum(lengths[order]), 0.5 * self.period_s)
        return {
            "rows": len(self.seconds),
            "period_s": self.period_s,
            "mean_mbps": self.mean_mbps,
            "median_mbps": float(rates[order][half]),
            "lowest_mbps": min(self.mbps),
            "highest_mbps": max(self.mbps),
            "outage_percent": 100 * float(lengths[rates == 0].sum()) / self.period_s,
        }

    def _megabits(self) -> _Floats:
        """Return the megabits that can be sent until the beginning of each row, and until the end of the period."""
        lengths = np.diff(np.append(self.seconds, self.period_s))
        return np.append(0.0, np.cumsum(lengths * np.array(self.mbps)))


def from_durations(durations_s: Sequence[float], mbps: Sequence[float]) -> Trace:
    """Return the trace whose rates last for these times.

    Examples
    --------
    >>> from_durations([2, 4], [5, 1])
    Trace(seconds=(0.0, 2.0, 4.0), mbps=(5, 1, 1))
    """
    lengths, rates = list(durations_s), list(mbps)
    # A last row lasts as long as the one before it: two halves of one length are exact.
    if len(lengths) < 2 or lengths[-1] != lengths[-2]:
        lengths[-1:] = [lengths[-1] / 2] * 2
        rates.append(rates[-1])
    starts = np.append(0.0, np.cumsum(lengths)[:-1])
    return Trace(tuple(map(float, starts)), tuple(rates))


def from_opportunities(milliseconds: Sequence[int], bin_s: float) -> Trace:
    """Return the mean rates of opportunities of Mahimahi in bins of about this length, which divide the period.

    Examples
    --------
    >>> from_opportunities([1, 2, 2, 4], 0.002)
    Trace(seconds=(0.0, 0.002), mbps=(18.048, 6.016))
    """
    period_ms = milliseconds[-1]
    number = max(1, round(period_ms / (1000 * bin_s)))
    # An opportunity ends the millisecond of its number.
    places = (np.maximum(np.array(milliseconds) - 1, 0) * number) // period_ms
    counts = np.bincount(places, minlength=number)
    length_s = period_ms / 1000 / number
    return from_durations(
        [length_s] * number, [round(float(rate), 6) for rate in counts * OPPORTUNITY_BITS / 1e6 / length_s]
    )


def opportunities(trace: Trace) -> list[int]:
    """Return the milliseconds of opportunities of Mahimahi at the rates of a trace.

    The last one ends the period, because a file of Mahimahi has no other end.

    Raises
    ------
    ValueError
        When there are more than the engine reads.

    Examples
    --------
    >>> opportunities(Trace((0.0, 0.001, 0.002), (24.064, 12.032, 12.032)))
    [1, 1, 2, 3]
    """
    number = max(1, round(trace.mean_mbps * 1e6 * trace.period_s / OPPORTUNITY_BITS))
    if number > MOST_OPPORTUNITIES:
        raise ValueError(f"must have at most {MOST_OPPORTUNITIES:,} opportunities in a period, got {number:,}")
    edges = np.append(trace.seconds, trace.period_s)
    sent = trace.megabits_until(edges)
    due = np.arange(1, number + 1) / number * sent[-1]
    # The row in which the bits of each are complete. Rounding must not lead beyond the last one.
    row = np.minimum(np.searchsorted(sent, due, side="left"), len(edges) - 1) - 1
    times = edges[row] + (due - sent[row]) / np.array(trace.mbps)[row]
    period_ms = int(np.ceil(round(1000 * trace.period_s, 6)))
    ends = np.minimum(np.maximum(np.ceil(np.round(1000 * times, 6)), 1), period_ms).astype(int)
    return [*map(int, ends[:-1]), period_ms]
