"""What the studies of Le, Aikat, Jeffay and Smith share: their schemes and the runs they are made of."""

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
"""The full one is the papers', with seeds that nothing was looked at with before. Users begin in equilibrium, so that a
short warm-up does."""


TESTBED = Link(header="14 B")
"""ALTQ's queues hold Ethernet's frames and count their headers: by bytes an acknowledgement has 54, not 40."""

WORKLOAD = Users().names[0]
"""What their users fetch, and how long they think: what specs have that name nothing else."""

REM_PERIOD = "1 ms"
"""REM's price changes with the kernel's clock, which went at 1 kHz for ALTQ. The papers give alpha, phi and gamma, and
no period; ns-2, from which the usual default comes, has 2 ms."""


def run_name(scheme: str, load: float, rtt: str = "uniform") -> str:
    """Return the name of the run of a scheme, as it is typed, under a load."""
    return f"{scheme} at {load:g} %" + ("" if rtt == "uniform" else f", {rtt} RTT")


@dataclass(frozen=True)
class PaperScheme:
    """What is between the users: a queue discipline with or without ECN, or the uncongested network."""

    text: str
    """As it is typed."""
    label: str
    """As it is called in a figure."""
    also: str = ""
    """What the testbed made of it besides, as it is typed."""

    @property
    def in_testbed(self) -> str:
        """The whole of it, as it is typed."""
        return ",".join(filter(None, (self.text, self.also)))

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
            experiment = schemes.parse(self.in_testbed).applied_to(experiment)
        return Run(name=self.at(load, rtt), experiment=experiment, label=self.in_testbed, uncongested=uncongested)

    def recorded_at(self, load: int, rtt: str = "uniform") -> str:
        """Return the name of the run that is written down in detail."""
        return f"{self.at(load, rtt)}, recorded"

    def recorded(self, load: int, length: Length, rtt: str = "uniform", *, link_every: str = "100 ms") -> Run:
        """Return one repetition of the run with each request, and the link as often as is said."""
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
    """Drop-tail with a queue of so many packets."""
    return PaperScheme(f"droptail:limit={limit}", f"drop-tail {limit:,}")


def pi(q_ref: int, *, ecn: bool = False) -> PaperScheme:
    """PI with this target in packets, as its authors recommend: in byte mode."""
    return _towards("pi", "PI", q_ref, ecn)


def rem(q_ref: int, *, ecn: bool = False) -> PaperScheme:
    """REM with this target in packets, as its authors recommend: in byte mode."""
    return replace(_towards("rem", "REM", q_ref, ecn), also=f"tau={REM_PERIOD}")


def rem_every(tau: str, q_ref: int) -> PaperScheme:
    """REM that drops, with this period."""
    usual = rem(q_ref)
    if tau == REM_PERIOD:
        return usual
    return PaperScheme(f"{usual.text},tau={tau}", f"{usual.label}, period {tau}")


Signal = Literal["drop", "ecn", "new gentle"]
"""``ecn`` drops between ``max_th`` and twice that, as RFC 3168 says; ``new gentle`` marks there (Le et al. 2004)."""


def ared(min_th: int, *, mode: str = "packet", signal: Signal = "drop", w_q: str = "1/8192") -> PaperScheme:
    """Adaptive RED with these thresholds in packets: ``max_th`` is three times ``min_th``."""
    max_th = 3 * min_th
    text = f"ared:min_th={min_th},max_th={max_th},w_q={w_q},mode={mode}"
    text += {"drop": "", "ecn": ",ecn=true", "new gentle": ",ecn=true,ecn_policy=mark_in_gentle"}[signal]
    label = f"ARED {min_th}/{max_th}" + (" byte mode" if mode == "byte" else "")
    label += "" if w_q == "1/8192" else f", weight {w_q}"
    return PaperScheme(text, label + {"drop": "", "ecn": ", ECN", "new gentle": ", ECN new gentle"}[signal])


def _towards(name: str, called: str, q_ref: int, ecn: bool) -> PaperScheme:
    text = f"{name}:q_ref={q_ref},mode=byte" + (",ecn=true" if ecn else "")
    return PaperScheme(text, f"{called} {q_ref}" + (", ECN" if ecn else ""))
