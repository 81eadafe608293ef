"""Draw the landing page's moving picture: ``python tools/moving_picture.py docs/img``.

``two-queues.svg`` shows twelve seconds of a home link under drop-tail and under CoDel, in real time: the packets that
wait, and the delay that they wait for. Its animations are SVG's own, so that it moves without a script.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import numpy as np

import aqmlab as lab
from aqmlab.ui.canvas import PALETTE

RATE_MBPS = 20
SECONDS = 12
FRAME_MS = 50
SPEC = {
    "link": {"rate": f"{RATE_MBPS} Mbit/s", "delay": "2 ms"},
    "users": {"per_side": 0},
    "sources": [
        {"bulk": {"flows": 2, "direction": "download", "rtt": {"fixed": "30 ms"}}},
        {"game": {"name": "game", "flows": 1, "rtt": {"fixed": "30 ms"}}},
    ],
    "record": {"queue_every": f"{FRAME_MS} ms"},
    "protocol": {"warmup": "0 s", "duration": f"{SECONDS} s"},
}
LIMIT = 250
"""The packets that both queues hold at most."""

WIDTH, HEIGHT = 640, 364
LEFT, RIGHT = 40, 456
"""The ends of the queues and of the time axis."""

BAR = 26
"""The height of a queue."""

TOPS = (30, 92)
CHART_TOP, CHART_BOTTOM = 168, 336
MAX_DELAY_MS = 160


@dataclass(frozen=True)
class Lane:
    """One discipline in the picture."""

    name: str
    colour: str
    packets: Sequence[float]
    """The packets that wait, at each frame."""
    delays_ms: Sequence[float]
    """The time that the link needs for them: a packet that arrives now waits so long."""
    late_percent: float
    """The share of the updates that reach the player too late."""


def lanes() -> list[Lane]:
    """Simulate both disciplines."""
    schemes = {f"droptail:limit={LIMIT}": ("drop-tail", PALETTE[1]), f"codel:limit={LIMIT}": ("CoDel", PALETTE[0])}
    with TemporaryDirectory() as out:
        comparison = lab.compare(*schemes, experiment=lab.Experiment(**SPEC), seeds=[1], out=out)
        return [_lane(result, *look) for result, look in zip(comparison.results, schemes.values(), strict=True)]


def _lane(result: lab.Result, name: str, colour: str) -> Lane:
    # People at home receive what arrives in direction 1.
    queue = result.queue.filter(result.queue["direction"] == 1)
    return Lane(
        name=name,
        colour=colour,
        packets=queue["packets"].to_list(),
        delays_ms=(queue["bytes"] * 8 / (RATE_MBPS * 1e3)).to_list(),
        late_percent=result.summary["sources"][1]["games"]["late_to_player_percent"],
    )


def _animation(attribute: str, values: Sequence[float]) -> str:
    shown = ";".join(f"{value:.3g}" for value in values)
    return (
        f'<animate attributeName="{attribute}" dur="{SECONDS}s" repeatCount="indefinite" calcMode="discrete" '
        f'values="{shown}"/>'
    )


def _bar(lane: Lane, top: int) -> str:
    """Draw a queue whose head is at its right end."""
    per_packet = (RIGHT - LEFT) / LIMIT
    widths = [packets * per_packet for packets in lane.packets]
    starts = [RIGHT - width for width in widths]
    still = len(widths) // 2
    middle = top + BAR / 2
    return f"""
  <text x="{LEFT}" y="{top - 8}" font-weight="bold">{escape(lane.name)}</text>
  <rect x="{LEFT}" y="{top}" width="{RIGHT - LEFT}" height="{BAR}" fill="none" stroke="currentColor" opacity=".4"/>
  <rect x="{starts[still]:.4g}" y="{top}" width="{widths[still]:.4g}" height="{BAR}" fill="{lane.colour}">
    {_animation("x", starts)}{_animation("width", widths)}
  </rect>
  <path d="M{LEFT} {top}h{RIGHT - LEFT}v{BAR}h-{RIGHT - LEFT}z" fill="url(#gaps)"/>
  <path d="M{RIGHT + 4} {middle}h26m-7 -5l7 5l-7 5" fill="none" stroke="currentColor" stroke-width="1.5"/>
  <text x="{RIGHT + 38}" y="{middle - 2}" font-weight="bold">{lane.late_percent:.2g} % late</text>
  <text x="{RIGHT + 38}" y="{middle + 15}" class="small">of a game's updates</text>"""


def _place(delay_ms: float) -> float:
    return CHART_BOTTOM - min(delay_ms, MAX_DELAY_MS) / MAX_DELAY_MS * (CHART_BOTTOM - CHART_TOP)


def _curve(lane: Lane) -> str:
    """Draw a discipline's delay over time, with a point at the present."""
    times = np.linspace(LEFT, RIGHT, len(lane.delays_ms))
    heights = [_place(delay) for delay in lane.delays_ms]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(times, heights, strict=True))
    return f"""
  <path d="M{line}" fill="none" stroke="{lane.colour}" stroke-width="1.8" clip-path="url(#past)"/>
  <circle r="4.5" cx="{RIGHT}" cy="{heights[-1]:.4g}" fill="{lane.colour}">
    {_animation("cx", [float(time) for time in times])}{_animation("cy", heights)}
  </circle>"""


def _axes() -> str:
    rows = "".join(
        f'<path d="M{LEFT} {_place(ms):g}H{RIGHT}" stroke="currentColor" stroke-opacity="{0.5 if ms == 0 else 0.15}"/>'
        f'<text x="{LEFT - 8}" y="{_place(ms) + 5:g}" text-anchor="end" class="small">{ms}</text>'
        for ms in range(0, MAX_DELAY_MS + 1, 50)
    )
    seconds = "".join(
        f'<text x="{LEFT + (RIGHT - LEFT) * second / SECONDS:g}" y="{CHART_BOTTOM + 19}" text-anchor="middle" '
        f'class="small">{second} s</text>'
        for second in range(0, SECONDS + 1, 3)
    )
    return f"""
  <text x="{LEFT}" y="{CHART_TOP - 14}" class="small">Queueing delay, ms</text>
  {rows}
  {seconds}"""


def picture(shown: Sequence[Lane]) -> str:
    """Return the picture of some disciplines as SVG."""
    frames = len(shown[0].packets)
    about = f"Two downloads and a game share a link of {RATE_MBPS} Mbit/s. " + " ".join(
        f"Under {lane.name} the queue makes packets wait {np.mean(lane.delays_ms):.0f} ms in the mean, "
        f"and {lane.late_percent:.2g} % of the game's updates come late."
        for lane in shown
    )
    past = _animation("width", [(RIGHT - LEFT) * (frame + 1) / frames for frame in range(frames)])
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="moving" role="img"
  aria-labelledby="two-queues" font-family="system-ui, sans-serif" font-size="16" fill="currentColor">
  <title id="two-queues">{escape(about)}</title>
  <style>.moving .small {{ font-size: 14px; opacity: .8 }}</style>
  <defs>
    <pattern id="gaps" width="8" height="{BAR}" patternUnits="userSpaceOnUse" x="{LEFT}" y="{TOPS[0]}">
      <path d="M0 0v{BAR}" stroke="#fff" stroke-opacity=".45"/>
    </pattern>
    <clipPath id="past"><rect x="{LEFT}" y="0" width="{RIGHT - LEFT}" height="{HEIGHT}">{past}</rect></clipPath>
  </defs>{"".join(map(_bar, shown, TOPS))}{_axes()}{"".join(map(_curve, shown))}
</svg>
"""


def main() -> None:
    """Write the picture into the directory that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/moving_picture.py docs/img")
    (Path(sys.argv[1]) / "two-queues.svg").write_text(picture(lanes()), encoding="utf-8")


if __name__ == "__main__":
    main()
