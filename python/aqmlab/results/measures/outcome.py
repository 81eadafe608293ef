"""Quality of outcome: how near delay and loss are to what an application needs, in per cent.

The score is that of draft-ietf-ippm-qoo-10, "Quality of Outcome", section 3.3: 100 where every requirement for optimal
performance is met (ROP; earlier versions: NRP), 0 where one is at its point of unacceptable performance (CPUP; NRPoU),
in between on a straight line, and of all requirements the worst. The draft has a least throughput as well, below which
the score is 0; it is the link's, which a spec states, and none is asked for here.

A delay here is one-way, over the link: its propagation and what the packets of these users or of this source waited in
queue and device, at a percentile, on the worse of both ways. The loss is theirs too. What hosts and access networks add
is left out, as the draft allows for a segment of a path (section 4.2), so that a score is the best that can be had over
this link.
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
    """What an application needs: pairs of where it is optimal and from where on it is unacceptable."""

    delay_ms: Mapping[str, tuple[float, float]]
    """One-way, by percentile, in milliseconds."""
    loss_percent: tuple[float, float]
    """Of the packets."""


PROFILES = {
    # The example of section 3.4 of the draft.
    "example": Profile({"p99": (200, 500), "p999": (300, 600)}, (1, 5)),
    # Conversational voice in ITU-T G.1010 (2001), appendix I: preferred and limit of the delay, limit of the loss. That
    # they hold for 99 % of the packets, and the optimal loss, are ours.
    "voice": Profile({"p99": (150, 400)}, (1, 3)),
    # Videophone in the same tables; what is ours is the same.
    "video": Profile({"p99": (150, 400)}, (0.1, 1)),
    # Half the 80 ms round trip for games from a cloud in appendix A.2 of the draft, and the limit of interactive games
    # in G.1010; the loss of the draft's figure 1. That these make one profile, and for 99 % of the packets, is ours.
    "gaming": Profile({"p99": (40, 200)}, (0.1, 2)),
}
"""By the names of their columns."""


def outcome(profile: Profile, delay_ms: Mapping[str, float], loss_percent: float) -> float:
    """Return the score of a profile, in per cent.

    Parameters
    ----------
    profile
        What is needed.
    delay_ms
        One-way delays by the profile's percentiles, in milliseconds.
    loss_percent
        Packets lost, in per cent.

    Examples
    --------
    >>> outcome(PROFILES["example"], {"p99": 350, "p999": 375}, loss_percent=2)
    50.0
    """
    met = [(delay_ms[percentile], bounds) for percentile, bounds in profile.delay_ms.items()]
    met.append((loss_percent, profile.loss_percent))
    shares = (1 - (value - optimal) / (unacceptable - optimal) for value, (optimal, unacceptable) in met)
    return 100 * min(max(0.0, min(1.0, share)) for share in shares)


def _scores(result: Result, traffic: Mapping[str, Any]) -> dict[str, float | None]:
    """Score all profiles, by the worse of the ways that packets went; ``None`` where none did."""
    propagation_ms = 1000 * sum(link.delay_s for link in result.cell.links)
    ways = [way for way in traffic["queue_delay_ms_each_way"] if way["mean"] is not None]
    if not ways:
        return dict.fromkeys(PROFILES)
    delay_ms = {percentile: propagation_ms + max(way[percentile] for way in ways) for percentile in ("p99", "p999")}
    return {name: outcome(profile, delay_ms, traffic["loss_percent"]) for name, profile in PROFILES.items()}


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        of_seeds = [by_class(result.summary) for result in results]
        for name in of_seeds[0]:
            scores = [_scores(result, of[name]) for result, of in zip(results, of_seeds, strict=True)]
            yield {"label": label, "of": name, **over_seeds(scores)}


def _lacks(cell: Cell) -> str | None:
    # The summary of a chain has what packets waited at each of its queues, not what one waited on its way.
    return "one link in the place of a chain" if len(cell.links) > 1 else None


OUTCOME = Measure(
    "Quality of outcome, %, by profile of an application",
    {name: Column(name, 0, "%") for name in PROFILES},
    _rows,
    lacks=_lacks,
)
