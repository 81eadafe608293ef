"""Adaptive videos by the model and by a player over HTTP, over the same link."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import aqmlab as lab
from judges.comparison import Comparison
from judges.links import Link, run_programs

_HERE = Path(__file__).parent

MEASURES = ("bitrate", "switches", "rebuffering", "start-up")

_LADDER = (145_000, 365_000, 730_000, 1_100_000, 2_000_000, 3_000_000, 4_500_000, 6_000_000, 7_800_000)


@dataclass(frozen=True)
class VideoCase:
    """A video by the rule of throughput."""

    link: Link
    seconds: int = 120
    """The time from its start to the end of the measurement."""
    segment_s: int = 4
    buffer_s: int = 20

    @property
    def seeds(self) -> int:
        """The number of runs: one without a download, because nothing is random then."""
        return 5 if self.link.download else 1

    def compare(self, *, seeds: int | None = None) -> dict[str, Comparison]:
        """Run both, and compare each measure; fewer seeds are for tests."""
        numbers = range(1, (seeds or self.seeds) + 1)
        model = [self.model(seed) for seed in numbers]
        program = [self.program(seed) for seed in numbers]
        return {
            name: Comparison.of([run[name] for run in model], [run[name] for run in program], relative=False)
            for name in MEASURES
        }

    def model(self, seed: int) -> dict[str, float]:
        """Return the quality of the model's video."""
        delay_s = self._delay_s(seed)
        video = {
            "flows": 1,
            "rule": "throughput",
            "ladder": [f"{rate} bit/s" for rate in _LADDER],
            "segment": f"{self.segment_s} s",
            "buffer": f"{self.buffer_s} s",
            "rtt": {"fixed": f"{self.link.rtt_ms} ms"},
            "start": f"{self.link.start_s + delay_s:g} s",
            "spread": "0 s",
        }
        experiment = self.link.experiment(delay_s + self.seconds, sources=[{"video": video}])
        with tempfile.TemporaryDirectory() as out:
            quality = lab.run(experiment, seed=seed, out=out).summary["sources"][-1]["videos"]
        return {
            "bitrate": quality["bitrate_mbps_mean"],
            "switches": quality["switches_per_minute"],
            "rebuffering": quality["rebuffering_percent"],
            "start-up": quality["start_up_s_mean"],
        }

    def program(self, seed: int) -> dict[str, float]:
        """Return the quality of the player's video."""
        delay_s = self._delay_s(seed)
        numbers = (delay_s, self.seconds, self.segment_s, self.buffer_s)
        client = [sys.executable, str(_HERE / "play.py"), *map(str, numbers), json.dumps(_LADDER)]
        server = [sys.executable, str(_HERE / "serve_segments.py")]
        (quality,) = run_programs(self.link, seed, delay_s + self.seconds + 30, client=client, server=server)
        return {name: quality[name] for name in MEASURES}

    def _delay_s(self, seed: int) -> float:
        """Return the video's start after that of the measurement, which moves it against the download's sawtooth."""
        return round(random.Random(seed).uniform(0, 5), 3) if self.link.download else 0.0


def video_cases() -> Iterator[VideoCase]:
    """Yield the cases in the order of the table."""
    for download in (False, True):
        for queue in ("droptail:limit=100", "fq_codel"):
            for rtt_ms in (20, 100):
                yield VideoCase(Link(queue, rtt_ms, download))
    for rtt_ms in (20, 100):
        # Live video, which stalls.
        yield VideoCase(Link("droptail:limit=100", rtt_ms, download=True), segment_s=2, buffer_s=4)
