"""A drawing of the topology as SVG for web pages, on request with the state of each link."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from aqmlab.topology.network import LinkView, SenderView, Topology, rows

_MARGIN = 26
"""The distance from the edges to the centres of the first and the last router, in pixels."""
_ROUTER = 17
"""The radius of a router."""
_LINE = 17
"""The height of a line of text."""
_LANE = 7
"""The height of the lane of a direction."""
_LINK, _LINK_IN_CHAIN, _LINK_WITH_STATE = 340, 180, 340
"""The width of a single link, of one in a chain, and of one with its state."""
_CHARACTER = 6.2
"""The mean width of a character, in pixels: rather too wide than too narrow."""
_CHARACTER_BOLD = 8.5
"""The same of the larger bold text above a link."""


@dataclass(frozen=True)
class DirectionState:
    """The state of a direction of a link. A number is ``None`` if it is unknown."""

    throughput_mbps: float | None = None
    utilisation: float | None = None
    """The share of the capacity, from 0 to 1."""
    queue_packets: float | None = None
    delay_ms: float | None = None
    """The queueing delay."""
    loss_percent: float | None = None

    def texts(self) -> list[str]:
        """Return the known numbers with their units."""
        share = None if self.utilisation is None else 100 * self.utilisation
        numbers = (
            ("{} Mbit/s", self.throughput_mbps),
            ("{} % utilized", share),
            ("queue {} packets", self.queue_packets),
            ("delay {} ms", self.delay_ms),
            ("loss {} %", self.loss_percent),
        )
        return [text.format(_number(value)) for text, value in numbers if value is not None]


def draw(network: Topology, states: Sequence[Sequence[DirectionState]] = ()) -> str:
    """Return a drawing: routers, links with their directions as lanes, and below them the senders.

    Colours are those of the page's style sheet, by the classes ``router``, ``lane``, ``load``, ``rate``, ``about``,
    ``state``, ``sender`` and ``label``.

    Parameters
    ----------
    network
        The topology.
    states
        For each link the state of its two directions.
    """
    return _Drawing(network, states).text()


def describe(network: Topology) -> str:
    """Return the network in one sentence, as the text alternative of a drawing."""
    links = "; ".join(f"R{number} to R{number + 1}: {link.rates}, {link.delay}" for number, link in _numbered(network))
    senders = ", ".join(sender.label for sender in network.senders) or "none"
    return f"Network. Links {links}. Senders: {senders}."


class _Drawing:
    def __init__(self, network: Topology, states: Sequence[Sequence[DirectionState]]) -> None:
        self._network = network
        self._states = states
        self._link = _LINK_WITH_STATE if states else _LINK if len(network.links) == 1 else _LINK_IN_CHAIN
        self._y = 40
        """The height of the links' centres."""

    def text(self) -> str:
        links = "".join(part for number, link in _numbered(self._network) for part in self._draw_link(number, link))
        lines = max(len(self._about(link)) for link in self._network.links)
        below = self._y + 22 + _LINE * lines
        state_lines = max((len(state.texts()) + 1 for link in self._states for state in link), default=0)
        top = below + _LINE * state_lines + 12
        packed_rows = rows(self._network.senders, [sender.path for sender in self._network.senders])
        states = "".join(part for number, _ in _numbered(self._network) for part in self._draw_state(number, below))
        senders = "".join(
            part
            for index, row in enumerate(packed_rows)
            for sender in row
            for part in self._draw_sender(sender, top + 26 * index)
        )
        routers = "".join(map(self._draw_router, range(1, len(self._network.links) + 2)))
        width = 2 * _MARGIN + self._link * len(self._network.links)
        height = top + 26 * len(packed_rows)
        name = "network chain" if len(self._network.links) > 1 else "network"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" aria-label="{escape(describe(self._network))}">'
            f"{links}{states}{senders}{routers}</svg>"
        )

    def _x(self, router: int) -> float:
        return _MARGIN + self._link * (router - 1)

    def _draw_router(self, number: int) -> str:
        x = self._x(number)
        circle = f'<circle class="router" cx="{x}" cy="{self._y}" r="{_ROUTER}"/>'
        return circle + _text("router-name", x, self._y + 4, f"R{number}")

    def _draw_link(self, number: int, link: LinkView) -> Iterator[str]:
        left, right = self._x(number) + _ROUTER, self._x(number + 1) - _ROUTER
        states = self._states[number - 1] if self._states else (None, None)
        for direction, state in enumerate(states):
            y = self._y - _LANE - 1 + direction * (_LANE + 2)
            yield f'<rect class="lane" x="{left}" y="{y}" width="{right - left}" height="{_LANE}" rx="3"/>'
            if state is not None and state.utilisation:
                load = min(state.utilisation, 1.0) * (right - left)
                start = left if direction == 0 else right - load
                yield f'<rect class="load" x="{start:.1f}" y="{y}" width="{load:.1f}" height="{_LANE}" rx="3"/>'
        middle = (left + right) / 2
        rates = self._fit(f"{link.rates}{', varies' if link.varies else ''}")
        # A wide text stands above the routers too.
        is_wide = _CHARACTER_BOLD * len(rates) > right - left
        yield _text("rate", middle, self._y - (_ROUTER + 7 if is_wide else 16), rates)
        for index, line in enumerate(self._about(link)):
            yield _text("about", middle, self._y + 26 + _LINE * index, line)

    def _about(self, link: LinkView) -> list[str]:
        """Return the lines below a link."""
        fifo = f"device FIFO {link.device_fifo:,}" if link.device_fifo else ""
        changes = f"{len(link.rate_changes):,} rate changes" if link.rate_changes else ""
        queue = f"queue {link.queue}" if link.queue else ""
        parts = (", ".join(filter(None, texts)) for texts in ((f"delay {link.delay}", queue), (fifo, changes)))
        width = max(10, int((self._link - 2 * _ROUTER) / _CHARACTER))
        wrapped = [line for part in (*parts, link.loss, link.impairments) for line in textwrap.wrap(part, width)]
        return wrapped[:6]

    def _draw_state(self, number: int, y: float) -> Iterator[str]:
        if not self._states:
            return
        quarter = self._link / 4
        middle = (self._x(number) + self._x(number + 1)) / 2
        for direction, state in enumerate(self._states[number - 1]):
            x = middle - quarter + direction * 2 * quarter
            arrow = "{} →" if direction == 0 else "← {}"
            name = arrow.format(self._network.directions[direction].replace("→", " to "))
            yield _text("state direction", x, y + _LINE / 2, name)
            for index, text in enumerate(state.texts(), start=1):
                yield _text("state", x, y + _LINE / 2 + _LINE * index, text)

    def _draw_sender(self, sender: SenderView, y: float) -> Iterator[str]:
        left, right = self._x(sender.path[0]), self._x(sender.path[1])
        heads = {0: (right,), 1: (left,), None: (left, right)}[sender.direction]
        yield f'<line class="sender" x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>'
        for x in heads:
            inner = x + (8 if x == left else -8)
            yield f'<path class="head" d="M{x},{y} L{inner},{y - 5} L{inner},{y + 5} Z"/>'
        label = f"{sender.label}: {sender.description}" if sender.description else sender.label
        yield _text("label", (left + right) / 2, y + 4, _cut(label, int((right - left - 40) / _CHARACTER)))

    def _fit(self, text: str) -> str:
        return _cut(text, int((self._link - _ROUTER) / _CHARACTER))


def _numbered(network: Topology) -> Iterator[tuple[int, LinkView]]:
    return enumerate(network.links, start=1)


def _text(name: str, x: float, y: float, text: str) -> str:
    return f'<text class="{name}" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(length - 1, 1)]}…"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.01 else "0"
