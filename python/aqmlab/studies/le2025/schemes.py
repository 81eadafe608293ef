"""The links and the schemes of the study, and the names of its runs."""

from __future__ import annotations

from dataclasses import dataclass

from aqmlab._core import seconds
from aqmlab.results.cells import BASELINE
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment, Link, Protocol, Tcp, Users
from aqmlab.studies.kit.study import Length, Run

PROFILE = "linux-6"


@dataclass(frozen=True, kw_only=True)
class StudyLink:
    """A link with its users."""

    name: str
    mbps: int
    sides: int
    """The number of sides with users."""
    loads: tuple[int, ...]
    measured_fraction: float = 1
    """The measured time as a fraction of a length's."""

    def protocol(self, length: Length) -> Protocol:
        """Return the protocol of a run of a length on this link."""
        if self.measured_fraction == 1:
            return length.protocol
        measured_s = self.measured_fraction * seconds(length.duration)
        return Protocol(warmup=length.warmup, duration=f"{measured_s:g} s")


THEN = StudyLink(name="then", mbps=100, sides=2, loads=(50, 70, 80, 90, 98, 105))
# It carries as much in a fifth of the time as the two directions of the link of then.
NOW = StudyLink(name="now", mbps=1000, sides=1, loads=(90, 98, 105), measured_fraction=0.2)
LINKS = (THEN, NOW)

CONGESTED = (90, 98, 105)
"""The loads at which the plan calls a link congested."""


def point(load: int, link: StudyLink) -> str:
    """Return the load and the link in the name of a run."""
    return f"{load} % {link.name}"


@dataclass(frozen=True, kw_only=True)
class StudyScheme:
    """A queue discipline with or without ECN, or the uncongested network."""

    label: str
    """Name in claims, tables and figures."""
    text: str = ""
    """The scheme as typed; empty for drop-tail, whose limit depends on the link, and the uncongested network."""
    buffer_ms: int = 0
    """The buffer of drop-tail, at the link's rate."""
    is_on_testbed: bool = False
    """Its parameters were made for the rate of the testbed, so that it runs on the link of then alone."""
    has_l4s: bool = False
    """All hosts use Prague and accurate feedback."""

    def typed(self, link: StudyLink) -> str:
        """Return the scheme on a link as typed."""
        if self.buffer_ms:
            return f"droptail:limit={self.buffer_ms * link.mbps // 8} kB"
        return self.text or BASELINE

    def at(self, load: int, link: StudyLink) -> str:
        """Return the name of the run on a link under a load."""
        return f"{self.label} at {point(load, link)}"

    def run(self, load: int, link: StudyLink, length: Length) -> Run:
        """Return the run on a link under a load."""
        experiment = Experiment(
            link=Link(rate=f"{link.mbps} Mbit/s"),
            users=Users.model_validate({"load": load, "sides": link.sides, "rtt": "uniform", "workload": "web-2024"}),
            tcp=Tcp.model_validate({"profile": PROFILE, **({"congestion": "prague"} if self.has_l4s else {})}),
            protocol=link.protocol(length),
        )
        uncongested = self == UNCONGESTED
        if not uncongested:
            experiment = schemes.parse(self.typed(link)).apply_to(experiment)
        return Run(name=self.at(load, link), experiment=experiment, label=self.typed(link), uncongested=uncongested)


UNCONGESTED = StudyScheme(label=BASELINE)


def _pair(label: str, text: str, *, is_on_testbed: bool = False) -> tuple[StudyScheme, StudyScheme]:
    """Return a discipline without and with ECN."""
    joint = "," if ":" in text else ":"
    return (
        StudyScheme(label=label, text=text, is_on_testbed=is_on_testbed),
        StudyScheme(label=f"{label} with ECN", text=f"{text}{joint}ecn=true", is_on_testbed=is_on_testbed),
    )


def _ared(mode: str) -> tuple[StudyScheme, StudyScheme]:
    text = f"ared:min_th=12,max_th=36,w_q=1/8192,mode={mode}"
    return _pair(f"ARED in {mode} mode", text, is_on_testbed=True)


DROPTAILS = tuple(StudyScheme(label=f"drop-tail {ms} ms", buffer_ms=ms) for ms in (10, 50, 250))
PI = _pair("PI", "pi:q_ref=24,mode=byte", is_on_testbed=True)
REM = _pair("REM", "rem:q_ref=24,mode=byte,tau=1 ms", is_on_testbed=True)
ARED_PACKET, ARED_BYTE = _ared("packet"), _ared("byte")
CODEL, PIE, FQ_CODEL = _pair("CoDel", "codel"), _pair("PIE", "pie"), _pair("FQ-CoDel", "fq_codel")
CAKE, DUALPI2 = _pair("CAKE", "cake"), _pair("DualPI2", "dualpi2")
L4S = StudyScheme(label="DualPI2 with L4S", text="dualpi2:ecn=accurate", has_l4s=True)

OF_THEN = (*PI, *REM, *ARED_PACKET, *ARED_BYTE)
"""The disciplines of the papers."""

OF_TODAY = (*CODEL, *PIE, *FQ_CODEL, *CAKE, *DUALPI2)
"""The disciplines of today, each without and with ECN."""

CONGESTIBLE = (*DROPTAILS, *OF_THEN, *OF_TODAY, L4S)
"""All schemes but the uncongested network."""


def on(link: StudyLink) -> tuple[StudyScheme, ...]:
    """Return the schemes that run on a link; the uncongested network is the first."""
    return (UNCONGESTED, *(scheme for scheme in CONGESTIBLE if link == THEN or not scheme.is_on_testbed))
