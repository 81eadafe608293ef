"""Write the decisions of Sabre, the reference of adaptive video, for a test of our players.

Sabre (Spiteri, Sitaraman and Sparacio, MMSys 2018) is not part of this project::

    python tools/video_decisions.py SABRE crates/workload/src/sources/player/sabre.json

``SABRE`` is its file ``sabre.py``. The manifest and the networks are drawn here, from a fixed seed.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LADDER_KBPS = (230, 331, 477, 688, 991, 1427, 2056, 2962, 5027, 6000)
SEGMENT_MS = 3000
SEGMENTS = 120
NETWORKS = 12
BUFFERS_S = (12, 25, 60)

BASIC = """
from __main__ import Bola


class Basic(Bola):
    def get_quality_delay(self, segment_index):
        return self.quality_from_buffer(), 0
"""
"""BOLA-BASIC by Sabre's own function; its class limits each rise, as BOLA-O and BOLA-U do."""

RULES = {
    "bola": ["-a", "Basic.py", "-ab"],
    "bola_o": ["-a", "bola", "-ab", "-ao"],
    "dash_throughput": ["-a", "throughput"],
    "dynamic": ["-a", "dynamic", "-ab", "-ao"],
}
"""The options of each rule, those of ACM TOMM 2019."""

_DECISION = re.compile(r"^\[\d+-\d+\]\s+\d+: q=(\d+)", re.MULTILINE)


def manifest(draw: random.Random) -> dict[str, Any]:
    """Return a video whose scenes differ, and whose versions differ less."""
    scenes = [draw.uniform(0.4, 1.8) for _ in range(SEGMENTS)]
    sizes = [
        [8 * round(rate * SEGMENT_MS / 8 * scene * draw.uniform(0.9, 1.1)) for rate in LADDER_KBPS] for scene in scenes
    ]
    return {"segment_duration_ms": SEGMENT_MS, "bitrates_kbps": LADDER_KBPS, "segment_sizes_bits": sizes}


def network(draw: random.Random) -> list[dict[str, int]]:
    """Return the periods of a network, over and over."""
    highest = draw.choice((1_500, 4_000, 12_000))
    return [
        {
            "duration_ms": draw.randint(1_000, 30_000),
            "bandwidth_kbps": round(highest ** draw.uniform(0.65, 1)),
            "latency_ms": draw.randint(5, 200),
        }
        for _ in range(30)
    ]


def decide(sabre: Path, directory: Path, options: list[str], buffer_s: int) -> str:
    """Return the version of each segment, as digits."""
    command = [sys.executable, str(sabre), "-v", "-noa", "-n", "network.json", "-m", "movie.json", "-b", str(buffer_s)]
    done = subprocess.run([*command, *options], cwd=directory, capture_output=True, text=True, check=True)
    decisions = "".join(_DECISION.findall(done.stdout))
    assert len(decisions) == SEGMENTS
    return decisions


def main(sabre: Path, out: Path) -> None:
    """Draw a manifest and networks, and write them with the decisions."""
    draw = random.Random(1)
    movie = manifest(draw)
    cases = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "Basic.py").write_text(BASIC, encoding="utf-8")
        (directory / "movie.json").write_text(json.dumps(movie), encoding="utf-8")
        for number in range(NETWORKS):
            periods, buffer_s = network(draw), BUFFERS_S[number % len(BUFFERS_S)]
            (directory / "network.json").write_text(json.dumps(periods), encoding="utf-8")
            decisions = {rule: decide(sabre.resolve(), directory, options, buffer_s) for rule, options in RULES.items()}
            rows = [[period["duration_ms"], period["bandwidth_kbps"], period["latency_ms"]] for period in periods]
            cases.append({"buffer_s": buffer_s, "network": rows, "decisions": decisions})
    out.write_text(json.dumps({"manifest": movie, "cases": cases}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
