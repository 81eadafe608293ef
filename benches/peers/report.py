"""Measurements as tables: the cost of a packet, and the agreement of the programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from outputs import PERCENTILES

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """A table in any format; the first columns are names."""

    title: str
    head: Cells
    rows: tuple[Cells, ...]
    names: int


def difference_percent(aqmlab_value: float, peer_value: float) -> float:
    """Return how far ours is above theirs, which is not 0."""
    return 100 * (aqmlab_value / peer_value - 1)


def sheets(cases: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return the tables that have rows."""
    web = [case for case in cases if case["traffic"].startswith("web")]
    long = [case for case in cases if not case["traffic"].startswith("web")]
    percentiles = tuple(f"p{p}" for p in PERCENTILES)
    all_sheets = [
        Sheet(
            "What a bottleneck packet costs",
            ("case", "program", "packets", "CPU s", "ns/packet", "packets/CPU s", "peak MiB", "x aqmlab"),
            tuple(row for case in cases for row in _costs(case)),
            2,
        ),
        Sheet(
            "Web transfers: do they agree?",
            ("case", "program", "Mbit/s", "loss %", "queue", "transfers", *(f"{p} ms" for p in percentiles)),
            tuple(row for case in web for row in _pairs(case, _web)),
            2,
        ),
        Sheet(
            "Long flows: do they agree?",
            ("case", "program", "goodput Mbit/s", "queue", "loss %"),
            tuple(row for case in long for row in _pairs(case, _long)),
            2,
        ),
    ]
    return [sheet for sheet in all_sheets if sheet.rows]


def _costs(case: Mapping[str, Any]) -> Iterator[Cells]:
    cost = case["cost"]
    for program, item in cost.items():
        times = f"{item['ns_per_packet'] / cost['aqmlab']['ns_per_packet']:,.0f}" if "aqmlab" in cost else "-"
        yield (
            case["case"],
            program,
            f"{item['packets']:,}",
            f"{item['user_s']:.3g}",
            f"{item['ns_per_packet']:,.0f}",
            f"{1e9 / item['ns_per_packet']:,.0f}",
            f"{item['peak_mib']:.0f}",
            times,
        )


def _pairs(case: Mapping[str, Any], cells: Callable[[Mapping[str, Any]], list[tuple[float, int]]]) -> Iterator[Cells]:
    """Put aqmlab under each peer, over the same window, and the differences under both."""
    for peer, item in case["peers"].items():
        peer_cells, aqmlab_cells = cells(item["peer"]), cells(item["aqmlab"])
        window = f"{item['window']['warm_s']:g} to {item['window']['stop_s']:g} s"
        yield (f"{case['case']}, {window}", peer, *(f"{value:,.{digits}f}" for value, digits in peer_cells))
        yield ("", "aqmlab", *(f"{value:,.{digits}f}" for value, digits in aqmlab_cells))
        yield ("", "difference %", *(_difference(a[0], b[0]) for a, b in zip(aqmlab_cells, peer_cells, strict=True)))


def _difference(aqmlab_value: float, peer_value: float) -> str:
    return f"{difference_percent(aqmlab_value, peer_value):+.1f}" if peer_value else "-"


def _web(numbers: Mapping[str, Any]) -> list[tuple[float, int]]:
    times = numbers["response_time_ms"]
    counted = [
        (numbers["throughput_mbps"], 2),
        (numbers["loss_percent"], 2),
        (numbers["queue_mean"], 1),
        (numbers["transfers"], 0),
    ]
    return [*counted, *((times[f"p{p}"], 0) for p in PERCENTILES)]


def _long(numbers: Mapping[str, Any]) -> list[tuple[float, int]]:
    return [(numbers["goodput_mbps"], 2), (numbers["queue_mean"], 1), (numbers["loss_percent"], 3)]


def to_table(sheet: Sheet) -> Table:
    """Show a sheet to a person."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title=sheet.title, collapse_padding=True)
    for number, title in enumerate(sheet.head):
        table.add_column(title, justify="left" if number < sheet.names else "right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*row)
    return table


def to_markdown(sheet: Sheet) -> str:
    """Write a sheet for a page."""
    rule = ["---" if number < sheet.names else "--:" for number in range(len(sheet.head))]
    lines = [sheet.head, rule, *sheet.rows]
    return f"{sheet.title}:\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
