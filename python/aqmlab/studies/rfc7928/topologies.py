"""Scenarios of RFC 7928 with more than one kind of sender at once, and on other networks than one link of one rate."""

from __future__ import annotations

from aqmlab.spec import Protocol
from aqmlab.studies.rfc7928.scenarios import NEWRENO, RATE, STEP_S, Scenario, bulk

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
    tcp={**NEWRENO, "mix": [{"share": 1.0, "source": "cubic", "congestion": "cubic", "hystart": True}]},
)
"""Section 5.2 with both kinds of senders at once: what the aggressive one leaves to the other."""


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
"""Section 10: a flow through two bottlenecks, each with flows of its own. Clients are at the router of the lower
number: data go through link 2 first, then through link 1."""
