"""Consistency of loss and delay in the tables of Le et al. and in ours, by :mod:`aqmlab.models.accounting`.

Kwon and Fahmy (2003) and Kuzmanovic (2005) print no completed requests, so that their tables cannot be audited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from aqmlab.cells import calibration_model
from aqmlab.models.accounting import Audit, Entry, Verdict, audit_entry, queue_share
from aqmlab.models.intervals import Interval
from aqmlab.models.timers import Drops, Hosts, RoundTrips
from aqmlab.results.cells import BASELINE
from aqmlab.spec import schemes
from aqmlab.studies.le.published import Published, PublishedRow
from aqmlab.studies.le.schemes import WORKLOAD, PaperScheme
from aqmlab.studies.le.tables import PAPERS_DURATION_S

PACKETS_PER_SECOND = 24_000.0
"""2,400 packets are 100 ms, and 240 are 10 ms (Le et al. 2003, section 4)."""

DEVICE_PACKETS = 256
"""Packets that the device FIFO holds below the queue: the link's default, which was fitted to the drop-tail rows."""

ROUND_TRIPS: Mapping[str, RoundTrips] = {
    "uniform": RoundTrips(mean_s=0.08, longest_s=0.15),
    "general": RoundTrips(mean_s=0.42),
}
"""Round-trip times by table. The tail of the general one is not published. On the uncongested network a request of its
users takes 0.78 s longer (users and requests of 2004's tables 2 and 4): 0.34 s for each of its 2.3 round trips."""


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """Users and packets of a laboratory."""

    name: str
    users_per_side: Mapping[str, float]
    """Users at 100 % load, by table of round-trip times."""
    packet_bytes: Interval
    """The mean packet, with its headers."""


PAPERS = Testbed(name="papers", users_per_side=calibration_model.PUBLISHED_USERS, packet_bytes=Interval(500, 540))
"""Packets are "a little over 500 bytes" (Le et al. 2003, section 4), 521 if 2,400 of them are 100 ms."""


def ours() -> Testbed:
    """Return our laboratory, with the package's calibration: its mean packet is counted in the engine."""
    known = calibration_model.load_calibrations()
    users = {rtt: known[WORKLOAD, rtt, 2].users(100, 100e6) for rtt in ROUND_TRIPS}
    return Testbed(name="ours", users_per_side=users, packet_bytes=Interval(478, 486))


@dataclass(frozen=True, kw_only=True)
class MeasuredRow:
    """A row of a table, with intervals for the rounding of its digits or for its seeds."""

    table: str
    rtt: str
    load_percent: float
    scheme: str
    loss_percent: Interval
    completed_millions: Interval
    throughput_mbps: Interval

    @classmethod
    def printed(cls, row: PublishedRow) -> MeasuredRow:
        """Return a published row with the rounding of its digits."""
        return cls(
            table=row.table,
            rtt=row.rtt,
            load_percent=row.load_percent,
            scheme=row.scheme,
            loss_percent=Interval.printed(row.loss_percent),
            completed_millions=Interval.printed(row.completed_millions),
            throughput_mbps=Interval.printed(row.throughput_mbps),
        )

    @property
    def run(self) -> str:
        """Name of this experiment in the studies."""
        return PaperScheme(self.scheme, self.scheme).at(round(self.load_percent), self.rtt)

    def entry(self, uncongested: MeasuredRow, testbed: Testbed) -> Entry:
        """Return the entry of this row, with the row of the same users on the uncongested network."""
        bytes_per_second = self.throughput_mbps * (1e6 / 8)
        delivered = bytes_per_second * (2 * PAPERS_DURATION_S) / (self.completed_millions * 1e6)
        return Entry(
            users=2 * testbed.users_per_side[self.rtt] * self.load_percent / 100,
            seconds=PAPERS_DURATION_S,
            completed=self.completed_millions * 1e6,
            uncongested=uncongested.completed_millions * 1e6,
            loss=self.loss_percent * 0.01,
            packets=delivered / testbed.packet_bytes,
            queue_s=queue_share(_max_queue_packets(self.scheme) + DEVICE_PACKETS, PACKETS_PER_SECOND),
            drops=drops_of(self.scheme),
            round_trips=ROUND_TRIPS[self.rtt],
        )


def drops_of(scheme: str) -> Drops | None:
    """Return the packets that a scheme drops; ``None`` where it also marks."""
    parsed = schemes.parse(scheme)
    if parsed.ecn:
        return None
    return Drops.BY_BYTES if parsed.queue.parameters.get("mode") == "byte" else Drops.BY_PACKETS


def _max_queue_packets(scheme: str) -> float:
    """Return the longest mean queue, in packets."""
    queue = schemes.parse(scheme).queue
    if queue.discipline == "ared":
        # Gentle ARED drops every packet from twice max_th on.
        return 2 * float(queue.parameters["max_th"])
    return float(queue.parameters["limit" if queue.discipline == "droptail" else "q_ref"])


@dataclass(frozen=True, kw_only=True)
class AuditedRow:
    """A row with its audit."""

    row: MeasuredRow
    audit: Audit


def audit_rows(rows: Sequence[MeasuredRow], testbed: Testbed = PAPERS, hosts: Hosts | None = None) -> list[AuditedRow]:
    """Audit rows, each against the row of the same paper and users on the uncongested network."""
    uncongested = {_users_of(row): row for row in rows if row.scheme == BASELINE}
    return [
        AuditedRow(row=row, audit=audit_entry(row.entry(uncongested[_users_of(row)], testbed), hosts))
        for row in rows
        if row.scheme != BASELINE
    ]


def _users_of(row: MeasuredRow) -> tuple[str, str, float]:
    """Return the key of rows with the same users: the paper, the round-trip times and the load."""
    return row.table.partition("-")[0], row.rtt, row.load_percent


def published_rows() -> list[MeasuredRow]:
    """Return the rows of the papers' tables."""
    return [MeasuredRow.printed(row) for row in Published.read().rows]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Standard deviations of the numbers of a row."""

    loss_points: float
    completed_millions: float

    def widen(self, row: MeasuredRow) -> MeasuredRow:
        """Return a row with its intervals widened by two standard deviations; uncongested rows stay as they are."""
        if row.scheme == BASELINE:
            return row
        return replace(
            row,
            loss_percent=row.loss_percent.widened(2 * self.loss_points).at_least(0),
            completed_millions=row.completed_millions.widened(2 * self.completed_millions),
        )


def repeatability(rows: Iterable[MeasuredRow]) -> Spread:
    """Return the repeatability of the papers, from the experiments in table 2 of both."""
    twice: dict[str, list[MeasuredRow]] = {}
    for row in rows:
        if row.table.endswith("-t2") and row.scheme != BASELINE:
            twice.setdefault(row.run, []).append(row)
    pairs = [each for each in twice.values() if len(each) == 2]

    def sd(values: Iterable[tuple[Interval, Interval]]) -> float:
        # A difference has twice the variance of either.
        return math.sqrt(float(np.mean([(one.middle - other.middle) ** 2 / 2 for one, other in values])))

    return Spread(
        loss_points=sd((one.loss_percent, other.loss_percent) for one, other in pairs),
        completed_millions=sd((one.completed_millions, other.completed_millions) for one, other in pairs),
    )


@cache
def audits(paper: str) -> dict[str, Audit]:
    """Return the audit of each printed run of a paper: ``le2003`` or ``le2004``.

    Rows are widened by two standard deviations of the papers' own repeatability: only clear contradictions count.
    """
    rows = published_rows()
    spread = repeatability(rows)
    found = audit_rows([spread.widen(row) for row in rows])
    return {each.row.run: each.audit for each in found if each.row.table.startswith(paper)}


def contradiction(paper: str, run: str) -> str | None:
    """Return the reason why the printed losses of a run cannot have slowed its users; ``None`` if they can."""
    found = audits(paper).get(run)
    if found is None or found.verdict is not Verdict.INCONSISTENT:
        return None
    return f"by the paper's own table {found.reason} at most"
