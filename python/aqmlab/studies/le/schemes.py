"""Schemes and runs of the studies of Le, Aikat, Jeffay and Smith."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from aqmlab.results.cells import BASELINE
from aqmlab.spec import schemes, testbeds
from aqmlab.spec.experiment import Experiment, Link, Record, Users
from aqmlab.studies.kit.study import Length, Run

LENGTHS: Mapping[str, Length] = {
    "quick": Length(name="quick", warmup="20 s", duration="100 s", seeds=2),
    "default": Length(name="default", warmup="3 min", duration="20 min", seeds=3),
    "full": Length(name="full", warmup="15 min", duration="90 min", seeds=3, first_seed=7),
}
"""Lengths of both studies. The full one is the papers', with fresh seeds. Users begin in equilibrium, so that a short
warm-up is enough."""

KERNEL_LENGTH = Length(name="kernel", warmup="2 s", duration="6 s", seeds=3)
"""Length of both studies' runs in a Linux kernel in virtual time, ours. A virtual second of 50 cells took 3.3 s of
processor time: about two hours for a study."""


TESTBED = Link(header="14 B")
"""ALTQ's queues hold Ethernet frames and count their headers: an acknowledgement has 54 bytes, not 40."""

WORKLOAD = Users().names[0]
"""The workload of their users: the default of specs."""

REM_PERIOD = "1 ms"
"""Update period of REM's price: the kernel's clock, 1 kHz for ALTQ. The papers give alpha, phi and gamma, but no
period; the usual default of 2 ms is that of ns-2."""


def run_name(scheme: str, load: float, rtt: str = "uniform") -> str:
    """Return the name of the run of a scheme, as typed, under a load."""
    return f"{scheme} at {load:g} %" + ("" if rtt == "uniform" else f", {rtt} RTT")


@dataclass(frozen=True)
class PaperScheme:
    """A queue discipline with or without ECN, or the uncongested network."""

    text: str
    """The scheme as typed."""
    label: str
    """Name in figures."""
    extra: str = ""
    """Further parameters of the testbed, as typed."""

    @property
    def full_text(self) -> str:
        """The scheme with the testbed's parameters, as typed."""
        return ",".join(filter(None, (self.text, self.extra)))

    def at(self, load: int, rtt: str = "uniform") -> str:
        """Return the name of the run under this load."""
        return run_name(self.text, load, rtt)

    def run(self, load: int, length: Length, rtt: str = "uniform") -> Run:
        """Return the run under this load."""
        experiment = Experiment(
            testbed=testbeds.PAPERS, link=TESTBED, users={"load": load, "rtt": rtt}, protocol=length.protocol
        )
        uncongested = self.text == BASELINE
        if not uncongested:
            experiment = schemes.parse(self.full_text).apply_to(experiment)
        return Run(name=self.at(load, rtt), experiment=experiment, label=self.full_text, uncongested=uncongested)

    def recorded_at(self, load: int, rtt: str = "uniform") -> str:
        """Return the name of the run that records each request."""
        return f"{self.at(load, rtt)}, recorded"

    def recorded(self, load: int, length: Length, rtt: str = "uniform", *, link_every: str = "100 ms") -> Run:
        """Return one repetition of the run that records each request, and the link at an interval."""
        run = self.run(load, length, rtt)
        record = Record(link_every=link_every, exchanges=True)
        return Run(
            name=self.recorded_at(load, rtt),
            experiment=run.experiment.model_copy(update={"record": record}),
            label=run.label,
            uncongested=run.uncongested,
            seeds=1,
        )


UNCONGESTED = PaperScheme(BASELINE, BASELINE)


def droptail(limit: int) -> PaperScheme:
    """Return drop-tail with a limit in packets."""
    return PaperScheme(f"droptail:limit={limit}", f"drop-tail {limit:,}")


def pi(q_ref: int, *, ecn: bool = False) -> PaperScheme:
    """Return PI with a target in packets, in byte mode as its authors recommend."""
    return _with_target("pi", "PI", q_ref, ecn)


def rem(q_ref: int, *, ecn: bool = False) -> PaperScheme:
    """Return REM with a target in packets, in byte mode as its authors recommend."""
    return replace(_with_target("rem", "REM", q_ref, ecn), extra=f"tau={REM_PERIOD}")


def rem_every(tau: str, q_ref: int) -> PaperScheme:
    """Return REM that drops, with an update period."""
    usual = rem(q_ref)
    if tau == REM_PERIOD:
        return usual
    return PaperScheme(f"{usual.text},tau={tau}", f"{usual.label}, period {tau}")


Signal = Literal["drop", "ecn", "new gentle"]
"""``ecn`` drops between ``max_th`` and twice that, as RFC 3168 says; ``new gentle`` marks there (Le et al. 2004)."""


def ared(min_th: int, *, mode: str = "packet", signal: Signal = "drop", w_q: str = "1/8192") -> PaperScheme:
    """Return Adaptive RED with thresholds in packets: ``max_th`` is three times ``min_th``."""
    max_th = 3 * min_th
    text = f"ared:min_th={min_th},max_th={max_th},w_q={w_q},mode={mode}"
    text += {"drop": "", "ecn": ",ecn=true", "new gentle": ",ecn=true,ecn_policy=mark_in_gentle"}[signal]
    label = f"ARED {min_th}/{max_th}" + (" byte mode" if mode == "byte" else "")
    label += "" if w_q == "1/8192" else f", weight {w_q}"
    return PaperScheme(text, label + {"drop": "", "ecn": ", ECN", "new gentle": ", ECN new gentle"}[signal])


def _with_target(name: str, title: str, q_ref: int, ecn: bool) -> PaperScheme:
    text = f"{name}:q_ref={q_ref},mode=byte" + (",ecn=true" if ecn else "")
    return PaperScheme(text, f"{title} {q_ref}" + (", ECN" if ecn else ""))


TARGETS = (24, 240)
"""Targets of PI and REM, in packets."""
ARED_MIN = (12, 120)
"""Lower thresholds of ARED, in packets."""

BASE = droptail(240)
PI_24, PI_240, REM_24, REM_240 = pi(24), pi(240), rem(24), rem(240)
PI_ECN, REM_ECN = pi(24, ecn=True), rem(24, ecn=True)
CONTROLLED = (PI_ECN, REM_ECN)
"""The best of PI and REM with ECN."""
