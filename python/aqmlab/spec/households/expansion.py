"""Households as web users and ordinary sources, which the engine reads.

The numbers of uses are the households' means at an hour, rounded, and at least one. They do not depend on the seed, so
that all seeds and all schemes have the same households; the seed decides when they start, and all that they fetch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from aqmlab._core import Resolved, SpecError, seconds
from aqmlab.spec import schema
from aqmlab.spec.experiment import Experiment, Users
from aqmlab.spec.households import data
from aqmlab.ui.counts import pluralize

MIN_FOR_LOAD = 25
"""The smallest number of households that a load may ask for: with fewer, the rule of at least one use of each
application makes more than the load. Ours."""

MAX_HOUSEHOLDS = 100_000
"""The largest number of households. Ours."""

_MIN_TRANSFERS_PER_SECOND = 1 / 60
"""The fewest transfers of each kind, so that a short run of one household has some. Ours."""

_MAX_SPREAD_S = 60.0
"""The longest time over which uses start. Ours."""


def check(users: Users) -> None:
    """Check the name of a workload, and the keys of users that only households have, or that they have not.

    Raises
    ------
    SpecError
        When a key does not fit the workload.
    """
    if data.is_household(users.workload):
        if users.sides != 1:
            raise SpecError(
                f"users.sides: must be 1 for {users.workload}, whose homes are on side 0, got {users.sides}"
            )
        if users.per_side is not None and not 0 <= users.per_side <= MAX_HOUSEHOLDS:
            raise SpecError(
                f"users.per_side: must be between 0 and {MAX_HOUSEHOLDS:,} households for {users.workload},"
                f" got {users.per_side}"
            )
        return
    names = [*schema.names("users.workload"), *data.NAMES]
    if isinstance(users.workload, str) and users.workload not in names:
        # The engine, which reads no households, would not name them.
        raise SpecError(f"users.workload: unknown `{users.workload}`: choose {', '.join(names)}, or write a table")
    if users.hour is not None:
        raise SpecError(
            f"users.hour: only {', '.join(data.NAMES)} has hours: leave it out, or change users.workload,"
            f" got {users.hour}"
        )


def number(experiment: Experiment) -> str | None:
    """Return the number and the hour of households in words; nothing for other users."""
    users = experiment.users
    if not data.is_household(users.workload) or users.per_side is None:
        return None
    return f"{pluralize(users.per_side, 'household')} at {data.hour_of(users.workload, users.hour)} h"


def expanded(experiment: Experiment) -> Experiment:
    """Return an experiment in which households are web users and sources; any other is returned unchanged.

    The sources of the spec follow those of the households, whose draws they do not change.
    """
    users = experiment.users
    if not data.is_household(users.workload) or users.per_side is None:
        return experiment
    households, hour = data.load(users.workload), data.hour_of(users.workload, users.hour)
    if experiment.sources:
        # A mistake in them is reported with their own number, before those of the households precede them.
        no_users = users.model_copy(update={"workload": data.WEB_WORKLOAD, "hour": None, "per_side": 0})
        Resolved(experiment.model_copy(update={"users": no_users}).with_defaults().to_json())
    web_users = _uses(users.per_side * households.mean_users(hour)) if users.per_side else 0
    web = users.model_copy(update={"workload": data.WEB_WORKLOAD, "hour": None, "per_side": web_users})
    sources = _sources(experiment, users.per_side, households, hour) if users.per_side else ()
    return experiment.model_copy(update={"users": web, "sources": (*sources, *experiment.sources)})


def _sources(
    experiment: Experiment, count: int, households: data.Households, hour: int
) -> Iterator[dict[str, dict[str, Any]]]:
    users = experiment.users
    place = {} if users.path is None else {"path": list(users.path)}
    spread = _spread(experiment.protocol.warmup)
    for application in households.applications:
        flows = _uses(count * households.mean_flows(application, hour))
        yield {
            application.kind: {"name": application.name, "flows": flows, "spread": spread, **application.keys, **place}
        }
    for transfers in households.transfers:
        rate = max(count * households.transfers_per_second(transfers, hour), _MIN_TRANSFERS_PER_SECOND)
        # The side that opens a connection receives its data.
        rates = [rate, 0.0] if transfers.direction == "download" else [0.0, rate]
        rtt = {} if transfers.rtt is None else {"rtt": transfers.rtt}
        yield {"transfers": {"name": transfers.name, "rate_per_second": rates, "size": transfers.size, **rtt, **place}}


def _uses(mean: float) -> int:
    return max(1, math.floor(mean + 0.5))


def _spread(warmup: str) -> str:
    """Return the time over which uses start: the warm-up, but not more than a minute."""
    try:
        return f"{min(seconds(warmup), _MAX_SPREAD_S):g} s"
    except ValueError:
        # The engine reports the mistake in the warm-up.
        return "1 s"
