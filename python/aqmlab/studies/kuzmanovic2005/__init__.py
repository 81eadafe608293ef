"""Kuzmanovic (2005): ECN on the SYN/ACK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.kuzmanovic2005 import figures, runs, tables
from aqmlab.studies.kuzmanovic2005.claims import CLAIMS, printed

_ABOUT = """
Where routers mark data packets, they still drop the packets that open a connection, which cannot be marked.
With *ECN+* the SYN/ACK can be marked too.
A. Kuzmanovic compares RED, RED\\*, REM and PI with and without ECN+, under web users at 90 and 105 % load in ns-2.
He also compares a bare threshold with ECN+ and PI with dropped packets.
With an M[X]/M/1 queue he explains why an AQM's precision matters little at light load.

Our copy has sections 4.3 (its end) to 5.2.2 of the paper.
Settings from other sections are our choice:

* **Link**: 100 Mbit/s as ns-2 has links.
  Packets have no frames around them, and no driver's ring is below the queue.
* **Users** are those of Le, Aikat, Jeffay and Smith (2003), from whom the paper takes its traffic.
  Round-trip times are 10 to 150 ms.
  All users are on one side and their servers on the other.
  SYN/ACKs therefore meet the congested queue; SYNs, which ECN+ leaves unprotected, do not.
* **Load** is that of the shipped calibration for users on one side, made with other windows and timers.
  The rows *uncongested* of Table 1 show the demand of these users.
  Throughput, loss and queue are those of the data's direction.
* **Hosts** are those of ns-2 in early 2005 (profile `ns2-newreno`).
  The initial window is two packets, the clock has 10 ms, and the initial RTO is 6 s.
  A segment has Ethernet's 1,460 bytes.
  Receive windows are those of the paper's footnote 4.
  They are 8 kB for 20 % of the users, 16 kB for 35 %, and 64 kB (65,535 bytes) for 45 %.
  Eight machines with 100 Mbit/s each are the servers of a side, as in the testbed of Le et al.
* **Settings**: The target is the paper's 5 ms, 69 packets of 900 bytes, the mean packet size in the data's direction.
  PI, REM and the threshold hold this target.
  RED and RED\\* have thresholds of 34.5 and 103.5 and the weight 1/8192 of Le et al.
  All count packets instead of bytes, as ns-2's PI and REM do: by bytes, a SYN/ACK of 40 bytes is hardly ever dropped.
  Without ECN, RED\\* is RED, and runs once.
* **Figures 7 and 8**: Flows arrive in a Poisson process, independent of earlier ones.
  They meet an endless drop-tail queue on an ideal link of 100 Mbit/s, in packets of 1,000 bytes.
  The servers' interfaces are a hundred times as fast.
  Figure 8 has the response sizes of the users' workload.
"""


class Kuzmanovic2005(Study):
    """ECN and ECN+ with RED, RED*, REM and PI under web users, and the queue of bursts."""

    name = "kuzmanovic2005"
    title = "Kuzmanovic (2005): the power of ECN, and ECN+"
    about = _ABOUT
    sources: ClassVar[Mapping[str, str]] = {
        "paper": "A. Kuzmanovic: The Power of Explicit Congestion Notification. SIGCOMM 2005",
        "le2003": "L. Le, J. Aikat, K. Jeffay, F. D. Smith: The Effects of Active Queue Management on Web Performance."
        " SIGCOMM 2003",
    }
    lengths: ClassVar[Mapping[str, Length]] = {
        "quick": Length(name="quick", warmup="20 s", duration="90 s", seeds=3),
        "default": Length(name="default", warmup="2 min", duration="8 min", seeds=3),
        "full": Length(name="full", warmup="15 min", duration="90 min", seeds=3, first_seed=7),
    }
    claims = CLAIMS
    front = ("response-times-pi", "mean-queue")

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the experiments."""
        return list(runs.runs(length))

    def printed(self) -> PrintedTables:
        """Return the rows of table 1 in our copy."""
        return printed()

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return Table 1, and tables of response times, handshakes and queues."""
        return tables.tables(results)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return figures 5 to 8."""
        return figures.figures(results)


STUDY = Kuzmanovic2005()
