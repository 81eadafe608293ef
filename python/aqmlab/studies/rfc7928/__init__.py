"""RFC 7928 as a study: any discipline, characterised as the guidelines ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from aqmlab._core import seconds
from aqmlab.spec.experiment import Protocol
from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.rfc7928 import figures as figures_of
from aqmlab.studies.rfc7928 import tables as tables_of
from aqmlab.studies.rfc7928.claims import reviewed_claims
from aqmlab.studies.rfc7928.runs import ALL, ALONE, LEVELS, Scenario
from aqmlab.studies.rfc7928.schemes import CHOSEN, can_mark, variants, with_marks, with_reference
from aqmlab.studies.rfc7928.topologies import AGGRESSIVE, BACKGROUND, CAPACITY, pairs

_ABOUT = """
RFC 7928 describes the tests and the measures that characterise a queue discipline before its deployment.
This study applies them to any discipline: `aqmlab study rfc7928 --aqm codel --aqm my_module:MyLaw`.
Drop-tail is always among the disciplines.

Without `--aqm` the study takes one discipline of each kind that the RFCs on queue management discuss:

* RED, which RFC 2309 recommended, with thresholds of a twelfth and a quarter of the buffer;
* Adaptive RED, which adjusts its own parameter;
* CoDel (RFC 8289) and PIE (RFC 8033);
* FQ-CoDel (RFC 8290), a scheduler with queue management.

**The network** is the RFC's dumbbell: a link of 10 Mbit/s, with round trips of 100 ms.
Minutes of such a link take a tenth of a second to simulate.
Every discipline has the same buffer, the bandwidth-delay product of the largest round trip (RFC 7928, section 3).
For 100 ms this is 84 packets.
Where the capacity varies (section 8.2.6), the buffer is that of 100 Mbit/s, 834 packets.
Disciplines are then set up for that rate; RED keeps its thresholds.
In section 10 two such links are in series.
Hosts are `linux-6` with NewReno, CUBIC or LEDBAT.
The queue is measured in the direction of the data every 10 ms.
No other buffer holds packets (`device_fifo = 0`), and there are no web users in addition to the scenarios' traffic.

**The measures** (section 2):

* *Goodput* is that of all sources together.
* *Queueing delay* is the time that the link takes to send the queue, at the link's rates during this time.
  Tables also have its 95th and 99th percentiles.
  For links in series it is the sum of both.
* *Jitter* is the mean difference between the delays of two packets 10 ms apart.
* *Loss* is that at the queue, and *completion times* are those of flows that end.
* *Start-up time* (section 2.2) is that of a connection whose response is one segment.
  It includes handshake, request and that segment.

Under the levels of congestion, the study also records the time and the flow of each loss.
They give the intervals between losses (section 2.3) and the global synchronisation ratio (section 2.4).
This ratio is the share of the flows that lose a packet in a loss event.
We let an event begin with a loss and last for the round trip of 100 ms.

**Not covered**:

* Section 10 leaves out custom laws, which run with one link only.
* For section 11, the cost of each discipline is in [its own table](../reference/aqm/cost.md).
* For section 12, the [pages of the disciplines](../reference/aqm/README.md) list the parameters.
* Section 2.2 names DNS and TLS; the study has neither.
* Adaptive video is a TCP flow that sends chunks with pauses, and bursty video is UDP in frames of one size.
"""


class Rfc7928(Study):
    """The characterisation guidelines, for the chosen disciplines or for those of ``--aqm``."""

    name = "rfc7928"
    title = "Characterisation of queue disciplines after RFC 7928"
    about = _ABOUT
    sources: ClassVar = {
        "RFC 7928": "N. Kuhn, P. Natarajan, N. Khademi, D. Ros, Characterization Guidelines for Active Queue Management"
        " (AQM), 2016",
        "RFC 7567": "F. Baker, G. Fairhurst, IETF Recommendations Regarding Active Queue Management, 2015",
        "RFC 8033": "R. Pan, P. Natarajan, F. Baker, G. White, Proportional Integral Controller Enhanced (PIE), 2017",
        "RFC 8087": "G. Fairhurst, M. Welzl, The Benefits of Using Explicit Congestion Notification (ECN), 2017",
        "RFC 8289": "K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, Controlled Delay Active Queue Management, 2018",
        "RFC 8290": "T. Høiland-Jørgensen et al., The Flow Queue CoDel Packet Scheduler and AQM Algorithm, 2018",
        "RFC 6817": "S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, Low Extra Delay Background Transport (LEDBAT),"
        " 2012",
        "LBE": "Y. Gong, D. Rossi, C. Testa, S. Valenti, M. D. Täht, Fighting the Bufferbloat: On the Coexistence of"
        " AQM and Low Priority Congestion Control, Computer Networks 65, 2014",
        "synchronisation": "P. Jay, Q. Fu, G. Armitage, A Preliminary Analysis of Loss Synchronisation between"
        " Concurrent TCP Flows, ATNAC 2006",
        "suite": "A. Deepak, K. S. Shravya, M. P. Tahiliani, Design and Implementation of AQM Evaluation Suite for"
        " ns-3, WNS3 2017, and its documentation",
        "ellipses": "K. Winstein, H. Balakrishnan, TCP ex Machina: Computer-Generated Congestion Control, SIGCOMM 2013",
    }
    lengths: ClassVar = {
        "quick": Length(name="quick", warmup="10 s", duration="60 s", seeds=4),
        "default": Length(name="default", warmup="20 s", duration="120 s", seeds=10),
        "full": Length(name="full", warmup="20 s", duration="300 s", seeds=20, first_seed=21),
    }
    claims: ClassVar = reviewed_claims(with_reference(CHOSEN))
    front: ClassVar = ("trade-off", "ellipses")

    def __init__(self) -> None:
        self.schemes = with_reference(CHOSEN)

    def with_schemes(self, schemes: Sequence[Scheme]) -> Self:
        """Characterise these schemes, with drop-tail beside them."""
        other = type(self)()
        other.schemes = with_reference(schemes)
        other.options = "".join(f" --aqm {_quoted(scheme.label)}" for scheme in schemes)
        return other

    def reviewed_claims(self) -> Sequence[ReviewedClaim]:
        """Return what is expected of these schemes."""
        return reviewed_claims(self.schemes)

    def runs(self, length: Length) -> Sequence[Run]:
        """Return every scenario under every scheme, the levels of congestion with ECN and with other parameters too."""
        found: list[Run] = []
        for scheme in self.schemes:
            found += [_run(scenario, scheme, length) for scenario in (*ALL, ALONE, AGGRESSIVE, *BACKGROUND, *CAPACITY)]
            if can_mark(scheme):
                found += [_run(each, with_marks(scheme), length, name=f"{each.name}-ecn") for each in LEVELS]
            medium = LEVELS[1]
            for variant in variants(scheme, medium.room):
                found.append(_run(medium, variant.scheme, length, name=f"tuned-{variant.factor:g}"))
        found += [replace(_run(pair.scenario, pair.first, length), name=pair.run) for pair in pairs(self.schemes)]
        return found

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return a table for each section of the RFC."""
        return tables_of.tables(results, self.schemes)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return ellipses of delay and throughput, and what other scenarios show over time, round trip or parameter."""
        return figures_of.figures(results, self.schemes)


def _run(scenario: Scenario, scheme: Scheme, length: Length, *, name: str = "") -> Run:
    longer = Protocol(warmup=length.warmup, duration=f"{scenario.times * seconds(length.duration):g} s")
    return Run(
        name=f"{name or scenario.name}/{scheme.label}",
        experiment=scenario.experiment(scheme, longer),
        label=scheme.label,
    )


def _quoted(label: str) -> str:
    return f'"{label}"' if " " in label else label


STUDY = Rfc7928()
