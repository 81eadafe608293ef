"""Quality of Outcome: delay and loss relative to the requirements of an application, in percent.

The score is that of draft-ietf-ippm-qoo-10, "Quality of Outcome", section 3.3. It is 100 if every requirement for
optimal performance is met (ROP; earlier versions: NRP), 0 if one is at its point of unacceptable performance (CPUP;
NRPoU), and linear in between; the worst requirement counts. The draft also has a minimum throughput, below which the
score is 0. It is the link's, which a spec states, and is not required here.

The delay here is the one-way delay over the link: propagation and a percentile of the queueing delay of the packets of
these users or this source, in the worse direction. The loss is that of the same packets. Delays of hosts and access
networks are left out, as the draft allows for a segment of a path (section 4.2), so that a score is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab.cells.cell import Cell
from aqmlab.metrics.flows import by_class
from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, over_seeds
from aqmlab.store.result import Result


@dataclass(frozen=True)
class Profile:
    """The requirements of an application: pairs of an optimal and an unacceptable value."""

    delay_ms: Mapping[str, tuple[float, float]]
    """The one-way delay in milliseconds, by percentile."""
    loss_percent: tuple[float, float]
    """The loss of packets in percent."""


PROFILES = {
    # The example of section 3.4 of the draft.
    "example": Profile({"p99": (200, 500), "p999": (300, 600)}, (1, 5)),
    # Conversational voice in ITU-T G.1010 (2001), appendix I: preferred delay, and limits of delay and loss. The
    # percentile and the optimal loss are ours.
    "voice": Profile({"p99": (150, 400)}, (1, 3)),
    # Videophone in the same tables; the percentile and the optimal loss are ours.
    "video": Profile({"p99": (150, 400)}, (0.1, 1)),
    # Half of the 80 ms round trip for cloud gaming in appendix A.2 of the draft, and the limit for interactive games in
    # G.1010; the loss of the draft's figure 1. The combination and the percentile are ours.
    "gaming": Profile({"p99": (40, 200)}, (0.1, 2)),
}
"""The profiles by the names of their columns."""


def outcome(profile: Profile, delay_ms: Mapping[str, float], loss_percent: float) -> float:
    """Return the score of a profile in percent.

    Parameters
    ----------
    profile
        The requirements.
    delay_ms
        One-way delays in milliseconds, by the profile's percentiles.
    loss_percent
        The loss of packets in percent.

    Examples
    --------
    >>> outcome(PROFILES["example"], {"p99": 350, "p999": 375}, loss_percent=2)
    50.0
    """
    values = [(delay_ms[percentile], bounds) for percentile, bounds in profile.delay_ms.items()]
    values.append((loss_percent, profile.loss_percent))
    shares = (1 - (value - optimal) / (unacceptable - optimal) for value, (optimal, unacceptable) in values)
    return 100 * min(max(0.0, min(1.0, share)) for share in shares)


def _scores(result: Result, traffic: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the scores of all profiles in the worse direction; ``None`` without packets."""
    propagation_ms = 1000 * sum(link.delay_s for link in result.cell.links)
    delays = [delay for delay in traffic["queue_delay_ms_each_way"] if delay["mean"] is not None]
    if not delays:
        return dict.fromkeys(PROFILES)
    delay_ms = {
        percentile: propagation_ms + max(delay[percentile] for delay in delays) for percentile in ("p99", "p999")
    }
    return {name: outcome(profile, delay_ms, traffic["loss_percent"]) for name, profile in PROFILES.items()}


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        by_seed = [by_class(result.summary) for result in results]
        for name in by_seed[0]:
            scores = [_scores(result, traffic[name]) for result, traffic in zip(results, by_seed, strict=True)]
            yield {"label": label, "of": name, **over_seeds(scores)}


def _missing_requirement(cell: Cell) -> str | None:
    # The summary of a chain has the delay at each queue, but not the total delay of a packet.
    return "a single link instead of a chain" if len(cell.links) > 1 else None


OUTCOME = Measure(
    "Quality of outcome, %, by profile of an application",
    {name: Column(name, 0, "%") for name in PROFILES},
    _rows,
    missing_requirement=_missing_requirement,
)
