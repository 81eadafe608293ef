"""Scenarios of RFC 7928 on other networks than one link of one rate, and with a stack for each source.

They need links in series, rates that change, and stacks by source; the study takes them in when the engine has these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.spec import Protocol
from aqmlab.studies.rfc7928_scenarios import NEWRENO, RATE, STEP_S, Scenario, bulk

FAST, SLOW = "100 Mbit/s", RATE
"""The capacities of section 8.2.6, a tenth of each other as in the suite."""

CHANGES_S = 100
"""Ours: five steps of the slow schedule."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A scenario's traffic and the network that it has instead of the one link."""

    scenario: Scenario
    link: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the study's link."""
    chain: tuple[Mapping[str, Any], ...] = ()
    """Links in series, each with the discipline."""


def _alternating(every_s: float) -> list[dict[str, str]]:
    """Return the changes of a link that begins fast and is slow every other time."""
    steps = round(CHANGES_S / every_s)
    return [{"at": f"{step * every_s:g} s", "rate": SLOW if step % 2 else FAST} for step in range(1, steps)]


def _capacity(name: str, every_s: float, title: str) -> Network:
    scenario = Scenario(
        name=name,
        section="8.2.6",
        title=title,
        sources=(bulk(2),),
        protocol=Protocol(warmup="0 s", duration=f"{CHANGES_S} s"),
    )
    return Network(scenario=scenario, link={"rate": FAST, "rate_changes": _alternating(every_s)})


CAPACITY = (
    _capacity("capacity-slow", STEP_S, "capacity changes every 20 s"),
    _capacity("capacity-fast", 0.1, "capacity changes every 100 ms"),
)
"""Section 8.2.6's two schedules, with the suite's two NewReno flows."""

AGGRESSIVE = Network(
    scenario=Scenario(
        name="cubic-reno",
        section="5.2",
        title="CUBIC and NewReno",
        sources=(bulk(1), bulk(1, name="cubic")),
        tcp={**NEWRENO, "mix": [{"source": "cubic", "congestion": "cubic", "hystart": True}]},
    )
)
"""Section 5.2 with both kinds of senders at once: what the aggressive one leaves to the other."""

SERIES = Network(
    scenario=Scenario(
        name="series",
        section="10",
        title="two disciplines in series",
        sources=(
            bulk(1, name="through", path=[1, 3]),
            bulk(2, name="first", path=[1, 2]),
            bulk(2, name="second", path=[2, 3]),
        ),
    ),
    chain=({"rate": RATE}, {"rate": RATE}),
)
"""Section 10: a flow through two bottlenecks, each with flows of its own."""
