"""Scenarios of RFC 7928 with more than one kind of sender at once, and on other networks than one link of one rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aqmlab.spec.experiment import Protocol
from aqmlab.spec.schemes import Scheme
from aqmlab.studies.rfc7928.runs import NEWRENO, RATE, STEP_S, Scenario, bulk
from aqmlab.studies.rfc7928.schemes import REFERENCE, can_be_in_series, with_room

FAST, SLOW = "100 Mbit/s", RATE
"""The capacities of section 8.2.6, in the RFC and in the suite."""

CHANGES_S = 100
"""Ours: five steps of the slow schedule."""

FAST_STEP_S = 0.1
"""The time that the capacity stays as it is in the fast schedule of section 8.2.6."""

AGGRESSIVE = Scenario(
    name="cubic-reno",
    section="5.2",
    title="CUBIC and NewReno",
    sources=(bulk(1), bulk(1, name="cubic")),
    tcp={**NEWRENO, "mix": [{"share": 1.0, "source": "cubic", "congestion": "cubic"}]},
)
"""Section 5.2 with both kinds of senders at once."""

_BACKGROUND = {**NEWRENO, "mix": [{"share": 1.0, "source": "background", "congestion": "ledbat"}]}

DEEP = 4
"""The buffer of a bloated link, in bandwidth-delay products; ours. One product is 103 ms, hardly more than the delay
that LEDBAT steers to, 100 ms."""

BACKGROUND = (
    Scenario(
        name="lbe-alone",
        section="5.4",
        title=f"LEDBAT alone, a buffer of {DEEP} times the product",
        sources=(bulk(1, name="background"),),
        tcp=_BACKGROUND,
        depth=DEEP,
    ),
    Scenario(
        name="lbe",
        section="5.4",
        title="LEDBAT and NewReno",
        sources=(bulk(1), bulk(1, name="background")),
        tcp=_BACKGROUND,
    ),
    Scenario(
        name="lbe-deep",
        section="5.4",
        title=f"LEDBAT and NewReno, a buffer of {DEEP} times the product",
        sources=(bulk(1), bulk(1, name="background")),
        tcp=_BACKGROUND,
        depth=DEEP,
    ),
)
"""Section 5.4: a less-than-best-effort sender (LEDBAT, RFC 6817), alone and with another."""


def _capacity(name: str, every_s: float, title: str) -> Scenario:
    """Return a link that begins fast and is slow every other time."""
    steps = round(CHANGES_S / every_s)
    changes = [{"at": f"{step * every_s:g} s", "rate": SLOW if step % 2 else FAST} for step in range(1, steps)]
    return Scenario(
        name=name,
        section="8.2.6",
        title=title,
        sources=(bulk(2),),
        protocol=Protocol(warmup="0 s", duration=f"{CHANGES_S} s"),
        link={"rate": FAST, "rate_changes": changes},
        host_rate="1 Gbit/s",
    )


CAPACITY = (
    _capacity("capacity-slow", STEP_S, "capacity changes every 20 s"),
    _capacity("capacity-fast", FAST_STEP_S, "capacity changes every 100 ms"),
)
"""Section 8.2.6's two schedules, with the suite's two NewReno flows."""

SERIES = Scenario(
    name="series",
    section="10",
    title="two disciplines in series",
    sources=(
        bulk(1, name="through", path=[1, 3]),
        bulk(2, name="first", path=[2, 3]),
        bulk(2, name="second", path=[1, 2]),
    ),
    chain=({}, {}),
)
"""Section 10: a flow through two bottlenecks, each with flows of its own and the same discipline. Clients are at the
router of the lower number: data go through link 2 first, then through link 1."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Disciplines at the two links in series, in the direction of the data."""

    first: Scheme
    second: Scheme

    @property
    def run(self) -> str:
        """Name of the run."""
        then = f", then {self.second.label}" if self._is_mixed else ""
        return f"{SERIES.name}/{self.first.label}{then}"

    @property
    def scenario(self) -> Scenario:
        """The links in series, the lower one with the second discipline. Hosts use ECN as the first scheme sets it."""
        if not self._is_mixed:
            return SERIES
        queue = with_room(self.second, SERIES.room).queue
        return replace(SERIES, chain=({"queue": {queue.discipline: dict(queue.parameters)}}, {}))

    @property
    def _is_mixed(self) -> bool:
        return self.first.label != self.second.label


def pairs(schemes: Sequence[Scheme]) -> list[Pair]:
    """Return each scheme with itself, with drop-tail after and before it, and with the scheme that comes next."""
    able = [scheme for scheme in schemes if can_be_in_series(scheme)]
    others = [scheme for scheme in able if scheme.label != REFERENCE.label]
    mixed = [Pair(first=a, second=b) for scheme in others for a, b in ((scheme, REFERENCE), (REFERENCE, scheme))]
    following = zip(others, others[1:] + others[:1], strict=True) if len(others) > 1 else ()
    return [
        *(Pair(first=scheme, second=scheme) for scheme in able),
        *mixed,
        *(Pair(first=a, second=b) for a, b in following),
    ]
