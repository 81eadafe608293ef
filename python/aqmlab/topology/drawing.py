"""A drawing of the topology for a terminal: routers, links and the paths of senders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aqmlab.spec.schemes import DIRECTION_SEPARATOR
from aqmlab.topology.network import LinkView, SenderView, Topology, rows
from aqmlab.traces.drawing import COLUMNS, rates_text
from aqmlab.ui.console import columns, sheet
from aqmlab.ui.layout import FittedTable
from aqmlab.ui.terminal import Terminal

_ROUTER = 5
"""The width of a router in columns."""

_MIN_LINK = 10
"""The smallest width of a link with room for its rate, in columns."""

_LINK, _RATE, _SENDER = "cyan", "bold", "green"


def show(network: Topology, title: str) -> None:
    """Print a network and its senders, within the width of tables."""
    width = max(columns(), _ROUTER + _MIN_LINK + _ROUTER)
    console = Terminal(width=width, color_system="auto" if sys.stdout.isatty() else None)
    parts: list[RenderableType] = [Text(title, style="bold"), "", *drawing(network, console.width), ""]
    with console.capture() as capture:
        console.print(Group(*parts, FittedTable(_links(network)), FittedTable(_senders(network))))
        if network.common_queue is not None:
            console.print(Text(f"Queue at each end of every link: {network.common_queue}"))
        console.print(Text(_directions(network)))
        console.print(Text(f"Time: {network.warmup} of warm-up, then {network.duration} are measured."))
        for capacity in network.capacities:
            means = np.array(capacity.mbps).reshape(COLUMNS, -1).mean(axis=1)
            period = "the run" if capacity.edges_s[-1] >= network.warmup_s + network.duration_s else "its first 10 min"
            console.print(Text(f"\nCapacity over {period}, {capacity.name}, under seed 1:"))
            console.print(Text(rates_text(means, capacity.edges_s[-1])))
    # Bypass the escaping stream: Terminal has escaped the text already, and rich's own sequences are colours.
    console.file.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def drawing(network: Topology, width: int) -> list[Text]:
    """Return routers, links and senders as lines of at most ``width`` columns, in several pieces if necessary."""
    links = network.links
    links_per_segment = max(1, (width - _ROUTER) // (_ROUTER + _MIN_LINK))
    lines: list[Text] = []
    for first in range(0, len(links), links_per_segment):
        segment = links[first : first + links_per_segment]
        if lines:
            lines.append(Text())
        lines += _Segment(first + 1, segment, width, is_whole=len(links) <= links_per_segment).lines(network.senders)
    return lines


class _Segment:
    """A part of a drawing: adjacent links."""

    def __init__(self, first: int, links: Sequence[LinkView], width: int, *, is_whole: bool) -> None:
        self.first = first
        """The router at the left end."""
        self.links = links
        max_width = 40 if is_whole else _MIN_LINK
        self.link = min(max_width, (width - _ROUTER) // len(links) - _ROUTER)
        """The width of a link in columns."""

    @property
    def last(self) -> int:
        """The router at the right end."""
        return self.first + len(self.links)

    def lines(self, senders: Sequence[SenderView]) -> list[Text]:
        """Return the lines of the links, and below them those of their senders."""
        visible = [sender for sender in senders if sender.path[0] < self.last and self.first < sender.path[1]]
        packed_rows = rows(visible, [sender.path for sender in visible])
        return [*self._routers(), *(self._row(row) for row in packed_rows)]

    def _routers(self) -> list[Text]:
        top, middle, bottom = Text(), Text(), Text()
        for number in range(self.first, self.last + 1):
            name = f"R{number}".center(_ROUTER - 2)
            top.append("┌───┐")
            left = "┤" if number > self.first else "│"
            right = "├" if number < self.last else "│"
            middle.append(f"{left}{name}{right}")
            bottom.append("└───┘")
            if number < self.last:
                link = self.links[number - self.first]
                top.append(_fit(link.rates, self.link), style=_RATE)
                middle.append(("~" if link.varies else "─") * self.link, style=_LINK)
                bottom.append(_fit(link.delay, self.link), style=_LINK)
        return [top, middle, bottom]

    def _row(self, senders: Sequence[SenderView]) -> Text:
        row = Text()
        for sender in senders:
            start, end = self._column(sender.path[0]), self._column(sender.path[1])
            row.append(" " * (start - len(row)))
            row.append(_arrow(sender, end - start), style=_SENDER)
        return row

    def _column(self, router: int) -> int:
        """Return the column of a router; a router outside the piece is at its edge."""
        router = min(max(router, self.first), self.last)
        return (router - self.first) * (_ROUTER + self.link) + _ROUTER // 2


def _fit(text: str, width: int) -> str:
    return text[:width].center(width)


def _arrow(sender: SenderView, length: int) -> str:
    """Return the arrow of a sender's path with its name, pointing in the direction of its data, with a gap behind."""
    left = "◂" if sender.direction != 0 else "╶"
    right = "▸" if sender.direction != 1 else "╴"
    name = sender.name if len(sender.name) <= length - 6 else f"{sender.name[: length - 7]}…"
    return f"{left}{f' {name} '.center(length - 3, '─')}{right} "


def _directions(network: Topology) -> str:
    """Return the sentence that explains the directions, and the order of two values separated by a slash."""
    (forward, reverse), last = network.directions, len(network.links) + 1
    has_two = any(link.has_two_rates or DIRECTION_SEPARATOR in link.queue for link in network.links)
    slash = f"; a / b is {forward} / {reverse}" if has_two else ""
    return f"Directions: {forward} from R1 to R{last}, {reverse} from R{last} to R1{slash}."


def _links(network: Topology) -> Table:
    runs: list[tuple[int, int, LinkView]] = []
    for number, link in enumerate(network.links, start=1):
        if runs and runs[-1][2] == link:
            runs[-1] = (runs[-1][0], number + 1, link)
        else:
            runs.append((number, number + 1, link))
    cells = []
    for first, last, link in runs:
        name = f"R{first} to R{last}" + (f", {last - first} alike" if last - first > 1 else "")
        changes = [f"{rate} from {at}" for at, rate in link.rate_changes]
        change_text = ", ".join(changes[:3]) + (f" and {len(changes) - 3:,} more" if len(changes) > 3 else "")
        fifo = f"{link.device_fifo:,} packets" if link.device_fifo else "none"
        queue = "" if network.common_queue else link.queue
        cells.append((name, link.rates, link.delay, link.loss, link.impairments, queue, fifo, change_text))
    titles = ("link", "rate", "delay", "loss", "impairments", "queue at each end", "device FIFO", "rate changes")
    return _table(titles, cells)


def _senders(network: Topology) -> Table:
    return _table(
        ("sender", "kind", "data", "traffic", "hosts' round trip"),
        [
            (sender.name, sender.kind, network.direction_text(sender), sender.description, sender.rtt)
            for sender in network.senders
        ],
    )


def _table(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    """Return a table; empty columns are left out."""
    filled = [column for column in range(len(titles)) if any(row[column] for row in cells)]
    table = sheet()
    for column in filled:
        table.add_column(titles[column], no_wrap=titles[column] in ("link", "data"))
    for row in cells:
        table.add_row(*(Text(row[column]) for column in filled))
    return table
