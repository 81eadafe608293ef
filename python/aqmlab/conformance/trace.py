"""The series of one flow's sender: congestion windows in segments, reductions, round trips and growth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab.flows import senders
from aqmlab.store.result import Result

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TIMESTAMPS_BYTES = 12
"""The bytes of a segment that the option of timestamps takes (RFC 7323, appendix A)."""


class NotSeen(Exception):
    """A scenario did not lead to the situation that a case needs; the message says which."""


@dataclass(frozen=True)
class Reduction:
    """A reduction of the window."""

    at: int
    """The first row after it."""
    time_s: float
    before: float
    """The window before it, in segments."""
    ssthresh: float
    """The slow-start threshold after it, in segments."""
    cwnd: float
    """The window after it, in segments."""


@dataclass(frozen=True)
class Trace:
    """The rows of the sender of a run with one flow."""

    rows: pl.DataFrame
    mss: int
    """The data bytes of a full segment."""
    cell: str
    """The key of the cell in the store."""
    flows: pl.DataFrame
    """The whole table, for figures."""

    @classmethod
    def of(cls, result: Result) -> Trace:
        """Return the series of a result's flow."""
        tcp = result.cell.resolved["tcp"]
        mss = tcp["mss"] - (TIMESTAMPS_BYTES if tcp["timestamps"] else 0)
        return cls(senders(result.flows), mss, result.cell.key, result.flows)

    def column(self, name: str) -> Floats:
        """Return a column as numbers; null is not a number."""
        return self.rows[name].cast(pl.Float64).to_numpy(allow_copy=True).astype(float)

    def has(self, name: str) -> bool:
        """Return true if a column has values: controls differ in the variables that they report."""
        column = self.rows[name]
        return bool((column != "").any()) if column.dtype == pl.String else column.null_count() < len(column)

    @cached_property
    def stays(self) -> list[tuple[str, int, int]]:
        """Each stay in a phase of the control: its name, its first row, and the row after its last one."""
        phases = self.rows["phase"].to_list()
        starts = [at for at in range(len(phases)) if at == 0 or phases[at] != phases[at - 1]]
        # Without rows there are no stays.
        return [(phases[at], at, end) for at, end in zip(starts, [*starts[1:], len(phases)], strict=False)]

    def entries_into(self, phase: str) -> list[int]:
        """Return the first row of each stay in a phase of the control."""
        return [at for name, at, _ in self.stays if name == phase]

    @cached_property
    def time(self) -> Floats:
        """The time of each row, in seconds."""
        return self.column("time_s")

    @cached_property
    def cwnd(self) -> Floats:
        """The congestion window in segments."""
        return self.column("cwnd_bytes") / self.mss

    @cached_property
    def ssthresh(self) -> Floats:
        """The slow-start threshold in segments; not a number while it does not bound."""
        return self.column("ssthresh_bytes") / self.mss

    @cached_property
    def in_flight(self) -> Floats:
        """The data in flight in segments."""
        return self.column("in_flight_bytes") / self.mss

    @cached_property
    def state(self) -> NDArray[np.str_]:
        """The state of congestion: open, disorder, recovery or loss."""
        return np.asarray(self.rows["state"].to_list())

    @cached_property
    def rtt_s(self) -> float:
        """The minimum round-trip time in seconds."""
        return float(np.nanmin(self.column("min_rtt_ms"))) / 1000

    @cached_property
    def recoveries(self) -> list[Reduction]:
        """The reductions at the starts of fast recoveries."""
        return [self._reduction(at) for at in self.entries("recovery")]

    @cached_property
    def timeouts(self) -> list[Reduction]:
        """The reductions at retransmission timeouts that begin a recovery."""
        return [self._reduction(at) for at in self.entries("loss")]

    @cached_property
    def mark_responses(self) -> list[Reduction]:
        """The reductions outside loss recovery, as for marks: lower windows than in the rows before.

        Linux lowers the window to a threshold over a round trip, which is one reduction.
        """
        is_open = (self.state == "open") | (self.state == "disorder")
        falls = np.flatnonzero((np.diff(self.cwnd) < -1e-9) & is_open[1:] & is_open[:-1]) + 1
        found: list[Reduction] = []
        for fall in falls:
            one = self._reduction(int(fall))
            if found and self._continues(found[-1], one):
                one = replace(one, time_s=found[-1].time_s, before=found[-1].before)
                found.pop()
            found.append(one)
        return found

    def _continues(self, last: Reduction, one: Reduction) -> bool:
        """Return true if a reduction has the threshold of the last one, and the window has not grown between them."""
        return one.ssthresh == last.ssthresh and one.before <= last.cwnd

    def entries(self, state: str) -> list[int]:
        """Return the first rows of each stay in a state of congestion."""
        inside = self.state == state
        return [int(at) for at in np.flatnonzero(inside[1:] & ~inside[:-1]) + 1]

    def _reduction(self, at: int) -> Reduction:
        return Reduction(
            at=at,
            time_s=float(self.time[at]),
            before=float(self.cwnd[at - 1]),
            ssthresh=float(self.ssthresh[at]),
            cwnd=float(self.cwnd[at]),
        )

    def recovery(self, number: int) -> Reduction:
        """Return the reduction of a fast recovery by its number from 1."""
        return _numbered(self.recoveries, number, "fast recovery")

    def timeout(self, number: int = 1) -> Reduction:
        """Return the reduction of a retransmission timeout by its number from 1."""
        return _numbered(self.timeouts, number, "retransmission timeout")

    def mark_response(self, number: int) -> Reduction:
        """Return the response to a mark by its number from 1."""
        return _numbered(self.mark_responses, number, "response to a mark")

    def end_of(self, reduction: Reduction) -> int:
        """Return the first row after the loss recovery that a reduction begins."""
        inside = np.isin(self.state[reduction.at :], ("recovery", "loss"))
        if inside.all():
            raise NotSeen("the loss recovery does not end in the run")
        return reduction.at + int(np.argmin(inside))

    def until(self, row: int) -> int:
        """Return the first row of the next loss recovery after a row, or the number of rows."""
        inside = np.isin(self.state[row:], ("recovery", "loss"))
        return row + int(np.argmax(inside)) if inside.any() else len(self.time)

    def at(self, time_s: float) -> int:
        """Return the last row that is not after a time."""
        row = int(np.searchsorted(self.time, time_s + 1e-9, side="right")) - 1
        if row < 0 or time_s > self.time[-1] + 1e-6:
            raise NotSeen(f"the flow has no row at {time_s:.3g} s")
        return row

    def growth(self, first: int, last: int) -> float:
        """Return the slope of the window between two rows, in segments a round trip."""
        if last - first < 3:
            raise NotSeen("too few rows for a slope")
        return float(np.polyfit(self.time[first:last] / self.rtt_s, self.cwnd[first:last], 1)[0])

    def variable(self, name: str) -> Floats:
        """Return a variable of the control itself.

        Raises
        ------
        NotSeen
            When the control does not report it.
        """
        if not self.has(name):
            raise NotSeen(f"the control reports no {name}")
        return self.column(name)


def _numbered(reductions: list[Reduction], number: int, name: str) -> Reduction:
    if len(reductions) < number:
        raise NotSeen(f"{name} {number} does not come: {len(reductions)} in the run")
    return reductions[number - 1]


Measure = Callable[[Trace], float]
