"""Adaptive video: players' decisions against an independent player of the same manifest, and closed forms.

The independent player knows the times at which segments were requested and came, and decides from these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import aqmlab as lab

LADDER = (0.3, 0.75, 1.2, 1.85, 2.85, 4.3, 6.0)
"""Rates in Mbit/s."""
SEGMENT = 4.0


class Download(NamedTuple):
    """A segment: when it was requested, how long it took, and its version."""

    start_s: float
    duration_s: float
    rung: int


class Moment(NamedTuple):
    """The knowledge of a player when it chooses."""

    before: int | None
    level_s: float
    """The video in the buffer."""
    size_s: float
    """The most that the buffer holds."""
    downloads: Sequence[Download]


def throughput(moment: Moment) -> int:
    """Yin et al., SIGCOMM 2015: the highest rate up to the harmonic mean of five throughputs."""
    last = moment.downloads[-5:]
    if not last:
        return 0
    mean = len(last) / sum(one.duration_s / (LADDER[one.rung] * SEGMENT) for one in last)
    return max((rung for rung, rate in enumerate(LADDER) if rate <= mean), default=0)


def buffer_based(moment: Moment) -> int:
    """Huang et al., SIGCOMM 2014, algorithm 1, with a reservoir of 3/8 and the highest rate from 9/10 of the levels."""
    highest = moment.size_s - SEGMENT
    reservoir, upper = 0.375 * highest, 0.9 * highest
    previous = LADDER[moment.before or 0]
    plus = min((rate for rate in LADDER if rate > previous), default=LADDER[-1])
    minus = max((rate for rate in LADDER if rate < previous), default=LADDER[0])
    if moment.level_s <= reservoir:
        return 0
    if moment.level_s >= upper:
        return len(LADDER) - 1
    f = LADDER[0] + (LADDER[-1] - LADDER[0]) * (moment.level_s - reservoir) / (upper - reservoir)
    if f >= plus:
        return LADDER.index(max(rate for rate in LADDER if rate < f))
    if f <= minus:
        return LADDER.index(min(rate for rate in LADDER if rate > f))
    return LADDER.index(previous)


def bola(moment: Moment) -> int:
    """Spiteri et al., INFOCOM 2016: BOLA-BASIC by its thresholds, between neighbours of the ladder."""
    utility = [math.log(rate / LADDER[0]) + 5 for rate in LADDER]
    v = (moment.size_s / SEGMENT - 1) / utility[-1]
    level = moment.level_s / SEGMENT

    def threshold(rung: int) -> float:
        low, high = LADDER[rung], LADDER[rung + 1]
        return v * (high * utility[rung] - low * utility[rung + 1]) / (high - low)

    return sum(level >= threshold(rung) for rung in range(len(LADDER) - 1))


RULES: dict[str, Callable[[Moment], int]] = {"throughput": throughput, "buffer_based": buffer_based, "bola": bola}


def experiment(
    rule: str, rate: str, buffer_s: int, sizes: list[list[int]] | None = None, **link: Any
) -> lab.Experiment:
    video = {
        "flows": 1,
        "rule": rule,
        "ladder": [f"{rate} Mbit/s" for rate in LADDER],
        "segment": f"{SEGMENT} s",
        "buffer": f"{buffer_s} s",
        "rtt": {"fixed": "20 ms"},
        **({} if sizes is None else {"sizes": sizes}),
    }
    return lab.Experiment(
        link={"rate": rate, **link},
        users={"per_side": 0},
        sources=[{"video": video}],
        protocol={"warmup": "0 s", "duration": "300 s"},
        record={"exchanges": True},
    )


def downloads(result: lab.Result) -> Iterator[Download]:
    sizes = [round(rate * SEGMENT * 1e6 / 8) for rate in LADDER]
    columns = ("start_s", "response_time_ms", "response_bytes")
    for start, duration, size in result.exchanges.select(columns).sort("start_s").iter_rows():
        yield Download(start, duration / 1000, sizes.index(size))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("link", "buffer_s"),
    [
        ({"rate": "3 Mbit/s"}, 30),
        ({"rate": "20 Mbit/s"}, 12),
        (
            {
                "rate": "8 Mbit/s",
                "rate_changes": [{"at": "80 s", "rate": "1 Mbit/s"}, {"at": "180 s", "rate": "8 Mbit/s"}],
            },
            30,
        ),
    ],
    ids=["constant", "live", "step"],
)
def test_a_player_decides_as_an_independent_one(rule: str, link: dict[str, Any], buffer_s: int, tmp_path: Path) -> None:
    result = lab.run(experiment(rule, buffer_s=buffer_s, **link), seed=1, out=tmp_path)
    seen: list[Download] = []
    level, now, stalled, played = 0.0, 0.0, 0.0, 0.0
    for download in downloads(result):
        if seen:
            # The player waits while the buffer has no room for a segment.
            wait = max(0.0, level + SEGMENT - buffer_s)
            assert download.start_s == pytest.approx(now + wait, abs=1e-6)
            level, played = level - wait, played + wait
        assert download.rung == RULES[rule](Moment(seen[-1].rung if seen else None, level, buffer_s, seen)), len(seen)
        from_buffer = min(level, download.duration_s)
        played += from_buffer
        stalled += download.duration_s - from_buffer if seen else 0.0
        level += SEGMENT - from_buffer
        now = download.start_s + download.duration_s
        seen.append(download)
    assert len(seen) > 40
    (source,) = result.record()["sources"]
    videos = source["videos"]
    # After the last segment that came, up to 300 s, playback continues.
    rest = min(level, 300.0 - now)
    played, stalled = played + rest, stalled + 300.0 - now - rest
    switches = sum(one.rung != other.rung for one, other in pairwise(seen))
    assert videos["bitrate_mbps_mean"] == pytest.approx(sum(LADDER[one.rung] for one in seen) / len(seen))
    assert videos["switches_per_minute"] == pytest.approx(60 * switches / played, rel=1e-6)
    assert videos["rebuffering_percent"] == pytest.approx(100 * stalled / (played + stalled), abs=1e-4)
    assert videos["start_up_s_mean"] == pytest.approx(seen[0].duration_s)


@pytest.mark.parametrize("rule", RULES)
def test_a_link_below_the_lowest_rate_rebuffers_by_the_ratio(rule: str, tmp_path: Path) -> None:
    (source,) = lab.run(experiment(rule, "0.2 Mbit/s", 30), seed=1, out=tmp_path).record()["sources"]
    # Each second of video takes lowest rate / goodput seconds, of which all but one are a stall.
    assert source["videos"]["rebuffering_percent"] == pytest.approx(
        100 * (1 - source["goodput_mbps"] / LADDER[0]), abs=3
    )
    assert source["videos"]["bitrate_mbps_mean"] == pytest.approx(LADDER[0])


@pytest.mark.parametrize("rule", ["bola_o", "dash_throughput", "dynamic"])
def test_segments_have_the_sizes_of_the_manifest(rule: str, tmp_path: Path) -> None:
    """Three segments, over and over; each size tells segment and version."""
    sizes = [[1000 * (10 * segment + rung + 1) for rung in range(len(LADDER))] for segment in range(3)]
    result = lab.run(experiment(rule, "20 Mbit/s", 30, sizes), seed=1, out=tmp_path)
    seen = [size // 1000 - 1 for size in result.exchanges.sort("start_s")["response_bytes"]]
    assert [number // 10 for number in seen] == [segment % 3 for segment in range(len(seen))]
    assert len(seen) > 60
    # Segments are far smaller than the ladder says: the highest version is reached, and stays.
    assert seen[-1] % 10 == len(LADDER) - 1


def test_mistakes_of_a_video_are_refused(tmp_path: Path) -> None:
    for key, value, message in (
        (
            "ladder",
            ["2 Mbit/s", "1 Mbit/s"],
            r"video\.ladder: must rise from rate to rate, got 1 Mbit/s after 2 Mbit/s",
        ),
        ("buffer", "7 s", r"video\.buffer: must hold two segments, 12 s, got 7 s"),
        ("rule", "best", r"video\.rule"),
    ):
        sources = [{"video": {"flows": 1, key: value}}]
        with pytest.raises(lab.SpecError, match=message):
            lab.run(lab.Experiment(users={"per_side": 0}, sources=sources), out=tmp_path)
