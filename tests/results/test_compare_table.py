from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
import rich.console
import rich.jupyter
from rich.console import Console

from aqmlab import stats
from aqmlab.metrics.metrics import COSTS, MEASURES
from aqmlab.results import notebook
from aqmlab.results.table import ComparisonTables, parts
from aqmlab.ui import console

LONG = "ared:min_th=12,max_th=36,w_q=1/8192,ecn=true,ecn_policy=mark_in_gentle"
TIMES = ("p10", "p25", "p50", "p75", "p90", "p95", "p99", "mean")


def delay(ms: float | None) -> dict[str, float | None]:
    return {name: ms and factor * ms for name, factor in (("mean", 1), ("p50", 0.8), ("p99", 3), ("p999", 4))}


def times(ms: float | None) -> dict[str, float | None]:
    return {name: ms and factor * ms for factor, name in enumerate(TIMES, start=1)}


def source(name: str, ms: float | None, **options: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "bulk",
        "goodput_mbps": 3.25,
        "completed": 4,
        "aborted": 0,
        "response_time_ms": times(ms),
        "response_time_ms_max": None,
        "packets_sent": 100,
        "packets_lost": 1,
        "loss_percent": 1.0,
        "queue_delay_ms": delay(ms),
        "queue_delay_ms_each_way": [delay(ms), delay(ms and 2 * ms)],
        "datagrams": None,
    } | options


def record(label: str, seed: int, ms: float | None = 10.0, **options: Any) -> dict[str, Any]:
    """Return what one cell of a scheme without sources and classes would give."""
    way = {
        **dict.fromkeys(("throughput_mbps", "utilisation", "queue_packets_mean", "queue_packets_p99"), 1.0),
        "link": 1,
        "loss_percent": 0.5,
        "mark_percent": 2.5,
        "queue_delay_ms": delay(ms),
        "classes": [],
    }
    return {
        **dict.fromkeys((*stats.SETTINGS, *MEASURES, *COSTS), 1.0),
        "label": label,
        "users_per_side": 100,
        "seed": seed,
        "cell": "a cell",
        "queue_delay_ms": delay(ms),
        "response_time_ms": times(ms),
        "mark_percent": 2.5,
        "aborted_requests": 7,
        "directions": [way | {"direction": 0, "name": "forward"}, way | {"direction": 1, "name": "reverse"}],
        "classes": [],
        "users": None,
        "users_limited_by_percent": None,
        "pages": None,
        "sources": [],
    } | options


def schemes(*records_of_scheme: Sequence[dict[str, Any]], paired: bool = False) -> list[dict[str, Any]]:
    combined = [stats.over_seeds(records) for records in records_of_scheme]
    if paired:
        for scheme, differences in zip(
            combined[1:], stats.paired(records_of_scheme[0], records_of_scheme[1:]), strict=True
        ):
            scheme["paired"] = {"to": combined[0]["label"]} | differences
    return combined


def mixed(label: str, ms: float) -> list[dict[str, Any]]:
    """Return three seeds of web users beside two sources."""
    voice = {"sent": 9, "loss_percent": 0.0} | {f"delay_ms_{name}": 20.0 for name in ("mean", "p99", "max", "sd")}
    users = {name: value for name, value in source("", ms).items() if name.startswith(("packets", "loss", "queue"))}
    return [
        record(
            label,
            seed,
            ms + seed / 10,
            users=users,
            sources=[source("video", ms + seed), source("voice", None, datagrams=voice)],
        )
        for seed in (1, 2, 3)
    ]


def plain(rows: list[dict[str, Any]], width: int = 400) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(ComparisonTables(rows))
    return capture.get()


COMPARED = schemes(mixed("fq_codel", 5), mixed(LONG, 80), mixed("droptail", 333), paired=True)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_tables_fit_and_break_no_word(width: int) -> None:
    lines = [line.rstrip() for line in plain(COMPARED, width).splitlines()]
    assert max(map(len, lines)) <= width
    words = set(plain(COMPARED).replace(",", ", ").split())
    for word in " ".join(lines).replace(",", ", ").split():
        assert word in words or set(word) == {"─"}


def test_wherever_it_is_printed_a_comparison_says_the_same() -> None:
    def numbers(width: int) -> list[str]:
        return sorted(re.findall(r"[±+][\d,.]+", plain(COMPARED, width)))

    assert numbers(80) == numbers(100) == numbers(400)


def test_uncertainty_stands_beside_response_times_and_loss() -> None:
    (part,) = (
        part for part in parts(schemes([record("pi", 1, 100.0), record("pi", 2, 200.0)])) if "Resp" in part.title
    )
    (cells,) = part.cells()
    by_name = dict(zip((column.name for column in part.columns), cells, strict=True))
    assert by_name["p10"] == ("150", "±635")
    assert "Means of 2 seeds; ± is half of the 95 % interval (Student's t)." in plain(
        schemes([record("pi", 1), record("pi", 2)])
    )


def test_one_seed_has_no_uncertainty_and_no_caption() -> None:
    assert "±" not in plain(schemes([record("pi", 1)]))


def test_marks_aborted_requests_and_delay_are_shown() -> None:
    text = plain(schemes([record("pi", 1)]))
    for heading in ("marks", "aborted", "Delay in the queue, ms", "p99.9", "packet"):
        assert heading in text
    assert "2.50" in text


def test_each_source_and_class_has_its_delay_under_each_scheme() -> None:
    classes = [
        {"name": name, "packets": 1, "queue_delay_ms": delay(ms)} for name, ms in (("L4S", 1.0), ("Classic", 20.0))
    ]
    ways = [way | {"classes": classes} for way in record("", 1)["directions"]]
    dual = [result | {"classes": classes, "directions": ways} for result in mixed("dualpi2", 9)]
    (part,) = (part for part in parts(schemes(mixed("pi", 5), dual)) if part.title.startswith("Delay"))
    labels = [
        f"{traffic} {name}" for traffic in ("all packets", "web users", "video") for name in ("forward", "reverse")
    ]
    classes_of = [f"class {name} {way}" for name in ("L4S", "Classic") for way in ("forward", "reverse")]
    assert [(row.scheme, row.part) for row in part.rows] == [
        *(("pi", traffic) for traffic in labels),
        *(("dualpi2", traffic) for traffic in (*labels[:2], *classes_of, *labels[2:])),
    ]


def test_directions_that_agree_are_shown_together() -> None:
    merged = schemes([record("pi", 1)])
    assert [part.title for part in parts(merged)][:2] == [
        "Link, with packets queued, both directions",
        "Delay in the queue, ms, both directions",
    ]
    assert "The two directions of the link agree to 10%" in plain(merged)
    assert "forward" not in plain(merged)


@pytest.mark.parametrize(
    "change",
    [
        {"directions": [way | {"loss_percent": 0.5 + 0.1 * way["direction"]} for way in record("", 1)["directions"]]},
        {"rate_back_mbps": 2.0},
        {"label": "pi / droptail"},
    ],
)
def test_directions_that_differ_have_rows_of_their_own(change: dict[str, Any]) -> None:
    scheme_rows = schemes([record("codel", 1)], [record("pi", 1) | change])
    for part in parts(scheme_rows)[:2]:
        assert [row.part for row in part.rows] == ["forward", "reverse"] * 2
    assert "Direction forward carries what side 0 sends, reverse what side 1 sends." in plain(scheme_rows)


def test_sources_have_rows_and_unused_measures_no_column() -> None:
    (part,) = (part for part in parts(schemes(mixed("pi", 5), mixed("codel", 6))) if part.title == "Traffic")
    assert [row.part for row in part.rows] == ["web users", "video", "voice"] * 2
    assert "one-way ms" in {column.group for column in part.columns}
    without = [result | {"sources": [source("video", 4.0)]} for result in mixed("pi", 5)]
    (part,) = (part for part in parts(schemes(without)) if part.title == "Traffic")
    assert "one-way ms" not in {column.group for column in part.columns}


def test_datagrams_show_jitter_and_digits_by_their_size() -> None:
    def game(label: str, ms: float) -> dict[str, Any]:
        delays = {"delay_ms_mean": ms, "delay_ms_p99": 2 * ms, "delay_ms_p999": 3 * ms, "delay_ms_sd": ms / 10}
        datagrams = {"sent": 9, "loss_percent": 0.0, "delay_ms_max": 4 * ms, **delays}
        return record(label, 1, sources=[source("game", None, kind="datagrams", datagrams=datagrams)])

    (part,) = (
        part
        for part in parts(schemes([game("fq_codel", 0.5213)], [game("droptail", 264.2)]))
        if part.title == "Traffic"
    )
    places = [place for place, column in enumerate(part.columns) if column.group == "one-way ms"]
    assert [part.columns[place].name for place in places] == ["mean", "p99", "p99.9", "jitter"]
    short, long = ([row[place][0] for place in places] for row in part.cells())
    assert short == ["0.52", "1.04", "1.56", "0.052"]
    assert long == ["264", "528", "793", "26.4"]


def test_sources_of_one_name_are_told_apart() -> None:
    records = [record("pi", 1, sources=[source("bulk", 1.0), source("bulk", 2.0), source("bulk", 3.0)])]
    (part,) = (part for part in parts(schemes(records)) if part.title == "Traffic")
    assert [row.part for row in part.rows] == ["bulk", "bulk #2", "bulk #3"]


def test_where_nothing_was_completed_there_is_a_dash() -> None:
    idle = record("pi", 1, None, loss_percent=None, completed_requests=0)
    (response,) = (part for part in parts(schemes([idle], [record("red", 1)])) if part.title.startswith("Resp"))
    first, second = response.cells()
    assert [number for number, _ in first[-8:]] == ["-"] * 8
    assert "-" not in {number for number, _ in second}


def test_links_of_a_chain_have_their_rows() -> None:
    ways = [{**way, "link": link} for link in (1, 2) for way in record("", 1)["directions"]]
    part, *_ = parts(schemes([record("pi", 1, directions=ways)]))
    assert [row.part for row in part.rows] == ["link 1 forward", "link 1 reverse", "link 2 forward", "link 2 reverse"]


def test_differences_stand_with_half_their_interval() -> None:
    first = [record("pi", 1, 100.0), record("pi", 2, 200.0)]
    second = [record("red", 1, 110.0), record("red", 2, 212.0)]
    *_, part = parts(schemes(first, second, paired=True))
    assert part.title == "Response times of web users, ms, less pi's"
    ((difference, half),) = [cells[2] for cells in part.cells()]
    assert (difference, half) == ("+11.0", "±12.7")


def test_a_star_is_where_the_interval_excludes_0() -> None:
    first = [record("pi", seed, 100.0 + seed) for seed in range(1, 6)]
    slower = [record("red", seed, 200.0 + seed + (seed % 2)) for seed in range(1, 6)]
    tied = [record("rem", seed, 100.0 + seed + (seed % 2) - (seed % 3)) for seed in range(1, 6)]
    scheme_rows = schemes(first, slower, tied, paired=True)
    red, rem = parts(scheme_rows)[-1].cells()
    for number, half in [*red, *rem]:
        assert half.endswith("*") == (abs(float(number)) > float(half.strip("±*")) if half else False)
    assert all(half.endswith("*") for _, half in red[-8:])
    assert "± is half of the 95 % interval, simultaneous for all 2 schemes. * excludes 0." in plain(scheme_rows)
    # Among more schemes an interval is wider, and it is narrowest alone.
    two_schemes = schemes(first, slower, paired=True)
    widths = [rows[1]["paired"]["high"]["response_time_ms"]["p50"] for rows in (two_schemes, scheme_rows)]
    assert widths == sorted(set(widths))


class Rows(HTMLParser):
    """Counts elements and gathers text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_a_notebook_has_one_table_with_what_a_user_wrote_as_text() -> None:
    name = "<b>[red]&"
    html = notebook.comparison(schemes(mixed("pi", 5), mixed(name, 9)), notes=["<script>"])
    rows = Rows(html)
    assert rows.open == []
    assert rows.counts["table"] == 1
    assert not rows.counts.keys() & {"b", "script", "pre"}
    assert name in rows.text
    assert any("<script>" in text for text in rows.text)
    widths = {line.count("<td") for line in html.splitlines() if "<td" in line}
    assert min(widths) > 2


def test_a_notebook_is_shown_nothing_beside_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[object] = []
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr(rich.jupyter, "display", lambda *arguments: displayed.append(arguments))
    assert "pi" in console.render_text(ComparisonTables(schemes([record("pi", 1)])))
    assert displayed == []
