"""The console: who may speak to it, and what it shows. A program of its own, asked over HTTP."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.console import queries
from fixtures.console import HOSTILE, Visitor


def test_only_who_has_the_address_comes_in_and_once(console_store: Path) -> None:
    with fixtures.console.console(console_store) as address:
        visitor = Visitor(address)
        assert visitor.ask("/")[0] == 403
        assert visitor.ask("/enter?token=" + "x" * 43)[0] == 403
        visitor.go_in()
        assert visitor.ask("/")[0] == 200
        assert Visitor(f"http://{visitor.host}/{visitor.enter}").ask(f"/{visitor.enter}")[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.org"}, 421),
        ({"Host": "localhost"}, 421),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Cookie": "aqmlab-1=x"}, 403),
        ({"Cookie": "aqmlab=\u00e9"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/runs/1/events", "/static/console.js"])
def test_whatever_does_not_come_from_its_own_pages_is_refused(
    visitor: Visitor, path: str, headers: dict[str, str], status: int
) -> None:
    assert visitor.ask(path, headers=headers)[0] == status


def test_a_state_change_needs_the_session_token_and_this_origin(visitor: Visitor) -> None:
    form = {"schemes": "codel", "seeds": "1"}
    assert visitor.ask("/runs", "POST", form)[0] == 403
    assert visitor.ask("/runs", "POST", {**form, "csrf": "\u00e9"})[0] == 403
    assert visitor.ask("/runs", "POST", {**form, "csrf": visitor.csrf()}, {"Origin": "http://127.0.0.1:1"})[0] == 403
    assert visitor.ask("/runs/1/stop", "POST", {})[0] == 403
    assert visitor.ask("/runs", "GET")[0] == 405
    assert visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), "spec": "x" * 1_100_000})[0] == 413
    assert (
        visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **{str(number): "" for number in range(6_000)}})[0] == 400
    )


@pytest.mark.slow
def test_a_file_of_the_current_directory_is_not_run(
    console_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aqmlab", "polars", "typing"):
        Path(tmp_path, f"{name}.py").write_text(f"open('{tmp_path}/run', 'w')")
    script = Path(sys.executable).with_name("aqmlab")
    monkeypatch.chdir(tmp_path)
    with fixtures.console.console(console_store, str(script)) as address:
        visitor = Visitor(address)
        visitor.go_in()
        key = re.findall(r'name="cell" value="([0-9a-f]{16})"', visitor.ask("/")[1])[0]
        assert visitor.ask(f"/report?cell={key}")[0] == 200
    assert not Path(tmp_path, "run").exists()


def test_pages_run_nothing_but_what_the_console_serves(visitor: Visitor) -> None:
    for path in ("/", "/new", "/static/console.css", "/nowhere"):
        _, _, headers = visitor.ask(path)
        policy = headers["Content-Security-Policy"]
        for directive in ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"):
            assert directive in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_names_are_shown_as_text(visitor: Visitor) -> None:
    status, page, _ = visitor.ask("/")
    assert status == 200
    assert "<script>alert" not in page
    assert HOSTILE in unescape(page)
    assert visitor.ask("/?" + urlencode({"words": HOSTILE}))[1].count('name="cell"') == 1


def test_cells_are_set_side_by_side_with_their_figures(visitor: Visitor, console_store: Path) -> None:
    _, page, _ = visitor.ask("/?words=" + quote("o"))
    keys = re.findall(r'name="cell" value="([0-9a-f]{16})"', page)
    query = "&".join(f"cell={key}" for key in keys)
    assert len(keys) == 4, "droptail and codel, two seeds each"
    status, page, _ = visitor.ask(f"/compare?{query}")
    assert status == 200
    for text in ("Response times", "Verdict", "median response time, ms"):
        assert text in page
    # As they were typed, though the list has the newest first: as in their report, which so has the same colours.
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', page)
    ways = ("forward", "reverse")
    assert rows[:4] == [(scheme, way) for scheme in ("droptail:limit=20", "codel") for way in ways]
    status, figures, headers = visitor.ask(f"/charts.json?{query}")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    shown = json.loads(figures)
    assert shown["schemes"] == ["droptail:limit=20", "codel"]
    assert {row["scheme"] for row in shown["charts"]["response-times"]["rows"]} == {*shown["schemes"]}
    status, page, _ = visitor.ask(f"/cells/{keys[0]}")
    assert status == 200
    assert keys[0] in page
    result = lab.Store(console_store).get_by_key(keys[0])
    assert result is not None
    assert f"{result.summary['directions'][0]['throughput_mbps']:.3g} Mbit/s</text>" in page
    assert page.count('class="load"') == 2


def test_a_cell_has_its_response_times_and_all_tables(visitor: Visitor, console_store: Path) -> None:
    store = lab.Store(console_store)
    result = queries.result(store, store.keys()[0])
    times = result.summary["response_time_ms"]
    shown = dict(queries.headline(result))
    for name, title in (("p50", "median"), ("p90", "p90"), ("p99", "p99")):
        number = float(shown[f"{title} response time"].removesuffix(" ms").replace(",", ""))
        assert number == pytest.approx(times[name], rel=0.005)
    page = visitor.ask(f"/cells/{result.location.name}")[1]
    for _, tables, _ in queries.tables(queries.comparison(store, (result.location.name,))):
        # Figures have titles of the same level.
        headings = re.findall(r"<h3>(.*)</h3>", unescape(page.partition(">Numbers</h2>")[2]))
        assert headings == [part.title for part in tables]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/compare", 400),
        ("/report", 400),
        ("/report?cell=" + "0" * 16, 404),
        ("/report?cell=--out", 404),
        ("/new?kind=..%2Frun", 404),
        ("/compare?cell=" + "0" * 16, 404),
        ("/compare?cell=..%2F..%2Fetc", 404),
        ("/cells/..%2F..%2Fetc%2Fpasswd", 404),
        ("/static/..%2Fapp.py", 404),
        ("/runs/99", 404),
        ("/charts.json?cell=" + "0" * 16, 404),
        ("/static/reports/..%2Fpage.py", 404),
        ("/static/vega/..%2Fvega.py", 404),
        ("/nowhere", 404),
        ("/rows", 400),
        ("/rows?list=nothing&number=0", 404),
        ("/rows?list=sources&number=0&row=trace", 404),
        ("/rows?list=link&number=50", 400),
        ("/parameters?discipline=os:system", 404),
        ("/schemes", 404),
    ],
)
def test_what_is_not_there_is_one_line(visitor: Visitor, path: str, status: int) -> None:
    answer, page, _ = visitor.ask(path)
    assert answer == status
    assert "Traceback" not in page


@pytest.mark.slow
def test_a_report_is_a_file_and_never_blocks_the_console(visitor: Visitor) -> None:
    _, page, _ = visitor.ask("/?words=" + quote("o"))
    keys = re.findall(r'name="cell" value="([0-9a-f]{16})"', page)
    query = "&".join(f"cell={key}" for key in keys)
    (reported,) = re.findall(r'"/report\?([^"]+)"', unescape(visitor.ask(f"/compare?{query}")[1]))
    assert sorted(reported.split("&")) == sorted(query.split("&"))
    assert f"/report?cell={keys[0]}" in visitor.ask(f"/cells/{keys[0]}")[1]
    with ThreadPoolExecutor() as threads:
        pending = threads.submit(visitor.ask, f"/report?{query}")
        answered = 0
        while not pending.done():
            assert visitor.ask("/new")[0] == 200
            answered += 1
    status, report, headers = pending.result()
    assert status == 200
    assert answered > 5
    assert headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "droptail:limit=20" in report
    assert "codel" in report
    assert HOSTILE not in report


def counting(folder: Path) -> tuple[list[str], Path]:
    """Return a program that is aqmlab, and a file in which each report that it begins is a line."""
    begun, program = folder / "begun", folder / "counting.py"
    program.write_text(
        "import asyncio, runpy, sys\n"
        "started = asyncio.create_subprocess_exec\n"
        "async def start(*words, **named):\n"
        f"    open({str(begun)!r}, 'a').write(' '.join(words) + '\\n')\n"
        "    return await started(*words, **named)\n"
        "asyncio.create_subprocess_exec = start\n"
        "runpy.run_module('aqmlab', run_name='__main__')\n"
    )
    return [sys.executable, str(program)], begun


def test_a_report_whose_reader_is_gone_is_not_made(console_store: Path, tmp_path: Path) -> None:
    program, begun = counting(tmp_path)
    key = lab.Store(console_store).keys()[0]
    with fixtures.console.console(console_store, *program) as address:
        visitor = Visitor(address)
        visitor.go_in()
        for _ in range(10):
            visitor.ask_and_leave(f"/report?cell={key}")
        assert visitor.ask(f"/report?cell={key}")[0] == 200
    # The first may have begun before its reader went; those behind it never do.
    assert len(begun.read_text().splitlines()) <= 3


def test_an_interrupt_of_the_console_prints_no_traceback(console_store: Path, tmp_path: Path) -> None:
    program, begun = counting(tmp_path)
    key = lab.Store(console_store).keys()[0]
    with (tmp_path / "said").open("w") as says, ThreadPoolExecutor() as threads:
        with fixtures.console.console(console_store, *program, says=says) as address:
            visitor = Visitor(address)
            visitor.go_in()
            report = threads.submit(visitor.ask, f"/report?cell={key}")
            while not begun.exists():
                assert not report.done()
        assert report.result()[0] == 503
    assert (tmp_path / "said").read_text() in ("", "aqmlab: interrupted\n")


def test_a_file_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    process = subprocess.run([sys.executable, "-m", "aqmlab", "console", str(file)], capture_output=True, text=True)
    assert process.returncode == 2
    assert process.stderr.startswith("aqmlab: DIR: must be a results directory")


def test_the_page_of_a_cell_and_its_comparison_have_its_notes(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s", "device_fifo": 256},
        users={"per_side": 0},
        sources=({"bulk": {"flows": 4}},),
        protocol={"warmup": "1 s", "duration": "5 s"},
    )
    (result,) = lab.compare("codel", experiment=experiment, seeds=[1], baseline=False, out=tmp_path).results
    with fixtures.console.console(tmp_path) as address:
        visitor = Visitor(address)
        visitor.go_in()
        note = "The device FIFO (link.device_fifo), which no discipline controls, holds"
        for page in (f"/cells/{result.location.name}", f"/compare?cell={result.location.name}"):
            # Above the tables, and once.
            before, after = visitor.ask(page)[1].split(note)
            assert "<h2>Numbers" not in before
            assert "Numbers" in after
