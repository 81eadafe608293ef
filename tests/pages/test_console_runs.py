"""The console's table of runs: its filters, orders and pages, against plain Python on made-up cells."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import polars as pl
import pytest
from starlette.datastructures import QueryParams

import aqmlab as lab
import fixtures.console
from aqmlab.console import cell_list
from aqmlab.console.auth import Rejected
from aqmlab.console.cell_list import CellTable, View
from aqmlab.store import rows
from fixtures.console import HOSTILE, Visitor


class Cells:
    """A store of made-up cells, which counts how often it is read."""

    def __init__(self, number: int) -> None:
        draw = random.Random(1)
        now = datetime.now(UTC)
        self.records: list[dict[str, Any]] = [
            {
                "cell": f"{index:016x}",
                "label": draw.choice(("codel", "pi:q_ref=24", "fq_codel")),
                "signal": "drop",
                "experiment": draw.choice("abc"),
                "world": "simulated",
                "seed": index,
                "load_percent": draw.choice((80.0, 98.0)),
                "rate_mbps": 20.0,
                "response_time_ms_p99": draw.choice((None, draw.uniform(100, 900))),
                "created": now - timedelta(days=draw.uniform(0, 60)),
            }
            for index in range(number)
        ]
        self.reads = 0

    def keys(self) -> list[str]:
        return [str(record["cell"]) for record in self.records]

    def cells(self, columns: list[str]) -> pl.DataFrame:
        self.reads += 1
        return pl.DataFrame(self.records, schema_overrides=rows.SCHEMA, infer_schema_length=None).select(
            pl.col(name) if name in self.records[0] else pl.lit(None, rows.SCHEMA[name]).alias(name) for name in columns
        )


def all_pages(store: Any, view: View) -> list[str]:
    table = CellTable()
    numbers = range(1, table.page(store, view).pages + 1)
    pages = [table.page(store, replace(view, page=number)) for number in numbers]
    shown = [[row["cell"] for group in page.groups for row in group.rows] for page in pages]
    assert all(len(cells) == cell_list.PAGE_ROWS for cells in shown[:-1])
    cells = [cell for page in shown for cell in page]
    assert {page.total for page in pages} == {len(cells)}
    return cells


FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda _: True,
    "codel": lambda cell: "codel" in cell["label"],
    "FQ_ codel": lambda cell: cell["label"] == "fq_codel",
    "pi:q_ref=24 load=98": lambda cell: cell["label"] == "pi:q_ref=24" and cell["load_percent"] == 98,
    "p99>500": lambda cell: (cell["response_time_ms_p99"] or 0) > 500,
    "p99<=500 seed>=40": lambda cell: (cell["response_time_ms_p99"] or 1e9) <= 500 and cell["seed"] >= 40,
    "created>=2020-01-01 world=simul": lambda _: True,
    "created<2020-01-01": lambda _: False,
}


@pytest.mark.parametrize("words", FILTERS)
def test_filters_select_what_they_say(words: str) -> None:
    store = Cells(250)
    selected = [cell["cell"] for cell in store.records if FILTERS[words](cell)]
    assert sorted(all_pages(store, View(words=words))) == selected


@pytest.mark.parametrize("days", cell_list.AGES)
def test_an_age_selects_younger_cells(days: str) -> None:
    store = Cells(250)
    young = [cell["cell"] for cell in store.records if cell["created"].timestamp() > time.time() - 86_400 * int(days)]
    assert sorted(all_pages(store, View(age=days))) == young


@pytest.mark.parametrize("turn", [1, -1])
def test_an_order_is_that_of_all_pages_without_values_last(turn: int) -> None:
    store, name = Cells(250), "response_time_ms_p99"
    with_values = [cell for cell in store.records if cell[name] is not None]
    expected = [cell["cell"] for cell in sorted(with_values, key=lambda cell: turn * cell[name])]
    shown = all_pages(store, View(sort=name if turn == 1 else f"-{name}"))
    assert shown[: len(expected)] == expected
    assert len(shown) == 250


def test_experiments_are_together_and_the_newest_is_first() -> None:
    store = Cells(250)
    newest = {name: max(cell["created"] for cell in store.records if cell["experiment"] == name) for name in "abc"}
    experiments = {cell["cell"]: cell["experiment"] for cell in store.records}
    shown = [experiments[cell] for cell in all_pages(store, View())]
    assert list(dict.fromkeys(shown)) == sorted("abc", key=lambda name: newest[name], reverse=True)
    assert sum(one != other for one, other in pairwise(shown)) == 2
    assert {experiments[cell] for cell in all_pages(store, View(experiment="b"))} == {"b"}


def test_a_store_is_read_again_only_after_a_change() -> None:
    store: Any = Cells(20)
    table = CellTable()
    for _ in range(3):
        assert table.page(store, View()).total == 20
    assert store.reads == 1
    store.records.pop()
    assert table.page(store, View()).total == 19
    assert store.reads == 2


@pytest.mark.parametrize("words", ["p99>much", "load=", "created>yesterday"])
def test_a_filter_without_a_value_is_one_line(words: str) -> None:
    page = CellTable().page(Cells(20), View(words=words))  # type: ignore[arg-type]
    assert page.error.startswith(re.split("[>=]", words)[0] + ": expected a")
    assert not page.groups


def test_an_address_gives_its_view_back() -> None:
    view = View(words="codel p99>3", age="7", experiment="ab", sort="-seed", columns=("seed", "created"), page=3)
    assert View.from_query(QueryParams(view.address(page=3).partition("?")[2])) == view
    assert View.from_query(QueryParams("")).address() == "/?"
    assert [View(sort=sort).sorted_by("seed") for sort in ("", "-seed", "seed")] == [
        "/?sort=-seed",
        "/?sort=seed",
        "/?",
    ]


@pytest.mark.parametrize("query", ["sort=spec", "sort=--seed", "age=8", "page=0", "page=-1", "page=\u00b2", "page="])
def test_an_address_that_no_page_has_is_refused(query: str) -> None:
    with pytest.raises(Rejected, match=r"^(sort|age|page): must be"):
        View.from_query(QueryParams(query))


def test_the_delay_of_a_cell_is_a_drawing(visitor: Visitor, console_store: Path) -> None:
    key = lab.Store(console_store).keys()[0]
    status, drawing, headers = visitor.ask(f"/cells/{key}/delay.svg")
    assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
    (line,) = ElementTree.fromstring(drawing)
    heights = [float(point.partition(",")[2]) for point in line.attrib["points"].split()]
    assert min(heights) == 1
    assert max(heights) <= 23
    assert visitor.ask("/cells/" + "0" * 16 + "/delay.svg")[0] == 404


def test_the_table_has_the_chosen_columns_and_links_of_its_view(visitor: Visitor) -> None:
    page = unescape(visitor.ask("/?" + urlencode({"column": "rtt", "words": "o", "sort": "label"}))[1])
    headings = re.findall(r'<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]*)', page)
    assert headings[:2] == ["scheme", "queueing delay over time"]
    assert headings[-1] == "RTT"
    assert '<th scope="col" aria-sort="ascending">' in page
    assert 'role="alert"' in visitor.ask("/?words=" + quote("p99>x"))[1]


@pytest.fixture
def failed(tmp_path: Path) -> Iterator[Visitor]:
    """A console on a store with a failed cell."""
    lab.Store(tmp_path).init()
    (tmp_path / "failed").mkdir()
    failure = {"cell": "0" * 16, "label": HOSTILE, "seed": 7, "error": "out of memory", "at": "2026-01-31T10:00:00"}
    (tmp_path / "failed" / f"{'0' * 16}.json").write_text(json.dumps(failure))
    with fixtures.console.console(tmp_path) as address:
        visitor = Visitor(address)
        visitor.go_in()
        yield visitor


def test_failed_cells_are_listed_as_text(failed: Visitor) -> None:
    page = failed.ask("/")[1]
    assert '<details class="card failures" open>' in page
    assert "1 failed cell<" in page
    assert f"{HOSTILE}, seed 7, 2026-01-31 10:00: out of memory" in unescape(page)
    assert "<script>alert" not in page
    assert "every 2s" not in failed.ask("/pending")[1]


@pytest.mark.parametrize("sort", ["", "-seed"])
def test_a_page_behind_the_last_one_is_the_last_one(sort: str) -> None:
    store: Any = Cells(250)
    page = CellTable().page(store, View(page=7, sort=sort))
    assert (page.number, page.pages) == (3, 3)
    assert page.groups == CellTable().page(store, View(page=3, sort=sort)).groups


SHORT_PAGES = """
from aqmlab.console import cell_list
from aqmlab.cli.main import main
cell_list.PAGE_ROWS = 2
main()
"""


def test_a_page_names_itself_and_its_neighbours_after_a_filter(console_store: Path) -> None:
    with fixtures.console.console(console_store, sys.executable, "-c", SHORT_PAGES) as address:
        visitor = Visitor(address)
        visitor.go_in()
        pages = {path: unescape(visitor.ask(path)[1]) for path in ("/?page=7", "/?words=o&page=7", "/?page=2")}
    assert "Page 3 of 3" in pages["/?page=7"]
    assert "Page 2 of 2" in pages["/?words=o&page=7"]
    assert ">Previous<" in pages["/?page=7"]
    assert 'href="/?page=2"' in pages["/?page=7"]
    assert ">Next<" not in pages["/?page=7"]
    assert 'href="/?page=3"' in pages["/?page=2"]
