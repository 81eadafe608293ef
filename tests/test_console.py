"""The console: who may speak to it, what it shows, what it runs. A program of its own, asked over HTTP."""

from __future__ import annotations

import http.client
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

import aqmlab as lab
import made_console
from aqmlab.console import asked, fields
from aqmlab.console.guard import Refused
from aqmlab.live import doctor
from aqmlab.running.calibration import lines
from aqmlab.running.cell import cells_of
from made_console import HOSTILE


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_console.store(tmp_path_factory.mktemp("store"))


class Visitor:
    """Somebody with a browser."""

    def __init__(self, address: str) -> None:
        self.host, _, self.enter = address.removeprefix("http://").partition("/")
        self.headers = {"Host": self.host}

    def ask(
        self, path: str, method: str = "GET", form: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        named = headers or {}
        body = None if form is None else urlencode(form)
        if method == "POST":
            named = {"Origin": f"http://{self.host}", "Content-Type": "application/x-www-form-urlencoded"} | named
        connection.request(method, path, body, {**self.headers, **named})
        with closing(connection):
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers

    def go_in(self) -> None:
        status, _, headers = self.ask(f"/{self.enter}")
        assert status == 303
        cookie = headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
        self.headers["Cookie"] = cookie.partition(";")[0]

    def csrf(self) -> str:
        _, page, _ = self.ask("/new")
        (token,) = re.findall(r'name="csrf" value="([^"]+)"', page)
        return str(token)


@contextmanager
def console(out: Path) -> Iterator[Visitor]:
    with made_console.console(out) as address:
        yield Visitor(address)


@pytest.fixture(scope="module")
def inside(out: Path) -> Iterator[Visitor]:
    with console(out) as visitor:
        visitor.go_in()
        yield visitor


def test_only_who_has_the_address_comes_in_and_once(out: Path) -> None:
    with console(out) as visitor:
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
@pytest.mark.parametrize("path", ["/", "/runs/1/news", "/static/console.js"])
def test_whatever_does_not_come_from_its_own_pages_is_refused(
    inside: Visitor, path: str, headers: dict[str, str], status: int
) -> None:
    assert inside.ask(path, headers=headers)[0] == status


def test_what_changes_something_needs_the_sessions_token_and_this_origin(inside: Visitor) -> None:
    form = {"schemes": "codel", "seeds": "1"}
    assert inside.ask("/runs", "POST", form)[0] == 403
    assert inside.ask("/runs", "POST", {**form, "csrf": "\u00e9"})[0] == 403
    assert inside.ask("/runs", "POST", {**form, "csrf": inside.csrf()}, {"Origin": "http://127.0.0.1:1"})[0] == 403
    assert inside.ask("/runs/1/stop", "POST", {})[0] == 403
    assert inside.ask("/runs", "GET")[0] == 405
    assert inside.ask("/runs", "POST", {"csrf": inside.csrf(), "spec": "x" * 1_100_000})[0] == 413
    assert (
        inside.ask("/runs", "POST", {"csrf": inside.csrf(), **{str(number): "" for number in range(6_000)}})[0] == 400
    )


def test_pages_run_nothing_but_what_the_console_serves(inside: Visitor) -> None:
    for path in ("/", "/new", "/static/console.css", "/nowhere"):
        _, _, headers = inside.ask(path)
        policy = headers["Content-Security-Policy"]
        for alone in ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"):
            assert alone in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_names_are_shown_as_text(inside: Visitor) -> None:
    status, page, _ = inside.ask("/")
    assert status == 200
    assert "<script>alert" not in page
    assert HOSTILE in unescape(page)
    assert inside.ask("/?" + urlencode({"words": HOSTILE}))[1].count('name="cell"') == 1


def test_cells_are_set_side_by_side_with_their_figures(inside: Visitor) -> None:
    _, page, _ = inside.ask("/?words=" + quote("o"))
    keys = re.findall(r'name="cell" value="([0-9a-f]{16})"', page)
    query = "&".join(f"cell={key}" for key in keys)
    assert len(keys) == 4, "droptail and codel, two seeds each"
    status, page, _ = inside.ask(f"/compare?{query}")
    assert status == 200
    for text in ("droptail:limit=20", "codel", "Response times", "Means of 2 seeds"):
        assert text in page
    for kind in ("cdf", "ccdf"):
        status, figure, headers = inside.ask(f"/figure/{kind}.svg?{query}")
        assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
        assert "droptail:limit=20" in figure
    status, page, _ = inside.ask(f"/cells/{keys[0]}")
    assert status == 200
    assert keys[0] in page


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
        ("/figure/other.svg?cell=" + "0" * 16, 404),
        ("/nowhere", 404),
        ("/rows", 400),
        ("/rows?list=nothing&number=0", 404),
        ("/rows?list=sources&number=0&row=trace", 404),
        ("/rows?list=chain&number=50", 400),
        ("/parameters?discipline=os:system", 404),
        ("/schemes", 404),
    ],
)
def test_what_is_not_there_is_one_line(inside: Visitor, path: str, status: int) -> None:
    answer, page, _ = inside.ask(path)
    assert answer == status
    assert "Traceback" not in page


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"schemes": ""}, "schemes: from 1 to"),
        ({"schemes": "--out /tmp"}, "is none of"),
        ({"schemes": "os:system"}, "laws of yours run from the command line"),
        ({"schemes": "codel:targt=5"}, "target"),
        ({"schemes": "codel", "seeds": "0"}, "seeds: a number"),
        ({"schemes": "codel", "protocol.duration": "1 fortnight"}, "protocol.duration"),
        ({"schemes": "codel", "spec": "link = "}, "spec: "),
        ({"schemes": "codel", "spec": '[queue."os:system"]'}, "laws of yours run from the command line"),
        ({"schemes": "codel", "spec": "\n[lnik]"}, "line 2: lnik: unknown key"),
        ({"schemes": "codel", "spec": "[link]\n\nrate = '1 furlong'"}, "line 3: link.rate: "),
        ({"schemes": "codel", "users.path": "[1, "}, "users.path: not TOML: "),
        ({"schemes": "codel", "users.path": "[1, 2]\nlink = 1"}, "users.path: write one value"),
        ({"schemes": "codel", "chain[0].queue": '{"os:system" = {}}'}, "laws of yours run from the command line"),
        ({"schemes": "codel", "sources[0].bulk.flows": "0"}, "sources[0].bulk.flows: "),
    ],
)
def test_a_form_that_cannot_be_run_comes_back_with_a_line_that_says_why(
    inside: Visitor, form: dict[str, str], says: str
) -> None:
    status, page, _ = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})
    assert status == 400
    assert says in unescape(page)


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"link.rate_changes[4].at": "5 s", "link.rate_changes[4].rate": "fast"}, "link.rate_changes[0].rate"),
        ({"link.rate_changes[0].at": "5 s", "link.rate_changes[0].rate": ""}, "link.rate_changes[0].rate"),
        ({"sources[0].bulk.flows": "2", "sources[0].bulk.rtt": '{fixed = "2"}'}, "sources[0].bulk.rtt"),
        ({"sources[0].bulk.flows": "2", "sources[9].datagrams.rate": ""}, "sources[1].datagrams"),
        ({"tcp.mix[0].share": "7"}, "tcp.mix[0].share"),
        ({"spec": "[users]\nload = 'many'", "users.sides": "2"}, "spec"),
        ({"schemes": "codel:targt=5"}, "schemes"),
    ],
)
def test_what_is_wrong_is_said_beside_what_was_typed_and_all_of_it_is_there_still(
    inside: Visitor, form: dict[str, str], wrong: str
) -> None:
    form = {"schemes": "codel", **form}
    status, page, _ = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})
    assert status == 400
    assert f'role="alert" id="why-{wrong}"' in page
    text = unescape(page)
    assert all(value in text for value in form.values())
    rows = [name for name in form if "[" in name and name.endswith(("flows", "datagrams.rate", "at", "share"))]
    assert page.count("<fieldset") == len(rows)


def test_rows_of_a_form_are_the_lists_of_the_spec(tmp_path: Path) -> None:
    rows = {
        "sources[0].bulk.name": '\U0001f600 "é"',
        "sources[0].bulk.flows": "2",
        "sources[0].bulk.rtt": '{fixed = "20 ms"}',
        "sources[1].datagrams.rate": "1 Mbit/s",
        "sources[1].datagrams.bursts.on": '{fixed = "1 s"}',
        "sources[1].datagrams.bursts.off": '{exponential = {mean = "1 s"}}',
        "link.rate_changes[0].at": "5 s",
        "link.rate_changes[0].rate": "5 Mbit/s",
        "tcp.mix[0].share": "0.5",
        "tcp.mix[0].ecn": "true",
    }
    spec = """
    link.rate_changes = [{ at = "5 s", rate = "5 Mbit/s" }]
    tcp.mix = [{ share = 0.5, ecn = true }]
    [[sources]]
    bulk = { name = '\U0001f600 "é"', flows = 2, rtt.fixed = "20 ms" }
    [[sources]]
    datagrams = { rate = "1 Mbit/s", bursts = { on.fixed = "1 s", off.exponential.mean = "1 s" } }
    """
    plain = asked.comparison({"schemes": "codel", "spec": spec}, tmp_path)
    made = asked.comparison({"schemes": "codel", **rows}, tmp_path)
    assert made.cells == plain.cells
    assert made.cells != asked.comparison({"schemes": "codel"}, tmp_path).cells


def test_a_list_without_kinds_may_have_rows_that_say_nothing(tmp_path: Path) -> None:
    users = {"schemes": "codel", "users.per_side": "5"}
    made = asked.comparison({**users, "chain[0].rate": "", "chain[1].rate": ""}, tmp_path)
    assert made.cells == asked.comparison({**users, "spec": "chain = [{}, {}]"}, tmp_path).cells
    assert made.cells != asked.comparison(users, tmp_path).cells


def test_every_row_that_is_offered_has_a_field_for_each_key(inside: Visitor) -> None:
    for path, known in fields.lists().items():
        for kind in known.kinds:
            query = urlencode({"list": path, "number": 3, "row": kind})
            status, part, _ = inside.ask(f"/rows?{query}")
            assert status == 200
            for field in fields.row(path, 3, kind):
                assert f'name="{field.path}"' in part
            assert "number=4" in part


def test_a_comparison_is_run_watched_and_found_among_the_cells(inside: Visitor, out: Path) -> None:
    spec = '[link]\nrate = "10 Mbit/s"\n[users]\nper_side = 50\n'
    form = {"schemes": "pi:q_ref=12", "spec": spec, "protocol.warmup": "1 s", "protocol.duration": "3 s", "seeds": "1"}
    status, _, headers = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})
    assert status == 303
    _, said, _ = inside.ask(headers["Location"] + "/news")
    assert said.endswith("event: end\ndata: 0\n\n")
    assert "pi:q_ref=12" in inside.ask("/?words=pi:q_ref")[1]


def test_a_run_is_stopped_and_only_one_runs_at_a_time(inside: Visitor) -> None:
    form = {"schemes": "droptail:limit=240", "users.load": "98", "protocol.duration": "30 min", "seeds": "1"}
    _, _, headers = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})
    where = headers["Location"]
    assert inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})[0] == 409
    status, _, _ = inside.ask(f"{where}/stop", "POST", {"csrf": inside.csrf()})
    assert status == 303
    _, said, _ = inside.ask(f"{where}/news")
    assert re.search(r"event: end\ndata: -?\d+\n\n$", said)
    assert not said.endswith("data: 0\n\n")


GRID = """
set = ["link.rate=10 Mbit/s", "users.per_side=50", "protocol.warmup=1 s", "protocol.duration=3 s"]
schemes = ["droptail:limit=20", "pi:ecn=true"]
[axes]
"queue.pi.q_ref" = [5, 20]
"""


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"grid": "# nothing"}, "grid: must be given"),
        ({"grid": "schemes = "}, "grid: "),
        ({"grid": "shemes = ['codel']"}, "shemes: is no key of a grid"),
        ({"grid": "spec = '/etc/hostname'"}, "spec: files are for the command line"),
        ({"grid": "schemes = ['os:system']"}, "laws of yours run from the command line"),
        ({"grid": "[axes]\n'queue.os:system.x' = [1]"}, "laws of yours run from the command line"),
        ({"grid": "[samples]\npoints = 1\nover.'queue.os:system.x' = {from = 1, to = 2}"}, "laws of yours run"),
        ({"grid": "set = ['queue.os:system.x=1']"}, "laws of yours run from the command line"),
        ({"grid": """set = ['chain=[{queue={"os\\u003asystem"={}}}]']"""}, "laws of yours run from the command line"),
        ({"grid": GRID, "seeds": "many"}, "seeds: a number"),
        ({"grid": GRID, "limit": "long"}, "limit: "),
        ({"grid": GRID.replace("[5, 20]", "{from = 1, to = 9, steps = 9999}"), "seeds": "2"}, "at most 2,000 cells"),
        ({"grid": GRID.replace("[5, 20]", "[-1]")}, "q_ref"),
        ({"grid": "#" * 110_000}, "grid: has at most 100,000 bytes"),
        ({"grid": "schemes = ['codel']", "schemes": "pi"}, "grid: schemes stand above too"),
        ({"grid": "", "axes[0].path": "load", "axes[0].values": "3"}, "axes[0]: "),
        ({"grid": "", "axes[0].path": "users.load", "axes[0].values": ""}, "axes[0]: "),
        ({"grid": "", "axes[0].path": "users.load", "axes[0].values": "{from = 3}"}, "axes[0]: "),
        ({"grid": "", "axes[0].path": "queue.os:system.x", "axes[0].values": "1"}, "laws of yours run"),
        (
            {"grid": ""}
            | {f"axes[{n}].{key}": text for n in (0, 1) for key, text in (("path", "users.load"), ("values", "9"))},
            "axes[1]: users.load is varied above",
        ),
    ],
)
def test_a_sweep_that_cannot_be_run_comes_back_with_a_line_that_says_why(
    inside: Visitor, out: Path, form: dict[str, str], says: str
) -> None:
    status, page, _ = inside.ask("/runs", "POST", {"csrf": inside.csrf(), "kind": "sweep", **form})
    assert 400 <= status < 500
    assert says in unescape(page)
    assert all(value in unescape(page) for value in form.values()), "what was typed is there still"
    assert not list(out.glob("console/grid-*"))


def test_a_sweep_is_run_and_its_means_are_shown(inside: Visitor, out: Path) -> None:
    form = {"kind": "sweep", "grid": GRID, "seeds": "2", "limit": "1 min"}
    status, _, headers = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form})
    assert status == 303
    _, said, _ = inside.ask(headers["Location"] + "/news")
    assert said.endswith("event: end\ndata: 0\n\n")
    _, page, _ = inside.ask(headers["Location"])
    rows = [re.findall(r"<td.*?>(.*?)</td>", row)[:3] for row in re.findall(r"<tr>(<td.*)</tr>", page)]
    assert rows == [["droptail:limit=20", "", "2"], ["pi:ecn=true", "5", "2"], ["pi:ecn=true", "20", "2"]]
    assert [file.read_text() for file in out.glob("console/grid-*.toml")] == [GRID]


def test_schemes_and_axes_of_fields_are_those_of_a_grid(tmp_path: Path) -> None:
    typed = {
        "schemes": "droptail:limit=20\npi:ecn=true",
        "axes[0].path": "queue.pi.q_ref",
        "axes[0].values": "5, 20",
        "link.rate": "10 Mbit/s",
        "users.per_side": "50",
        "protocol.warmup": "1 s",
        "protocol.duration": "3 s",
    }
    assert asked.sweep(typed, tmp_path).cells == asked.sweep({"grid": GRID}, tmp_path).cells
    spans = {**typed, "axes[0].values": "{from = 5, to = 20, steps = 2}"}
    assert set(asked.sweep(spans, tmp_path).cells) == set(asked.sweep({"grid": GRID}, tmp_path).cells)


def test_a_module_that_is_called_as_a_discipline_is_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "codel.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused, match="laws of yours"):
        asked.comparison({"schemes": "codel:Mine"}, tmp_path)


def test_a_live_run_is_refused_in_a_line_where_there_can_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aqmlab.live.doctor.PROGRAM", tmp_path / "nothing")
    with pytest.raises(Refused, match="nothing: cannot be started"):
        asked.live({"spec": "[queue.codel]"}, tmp_path)
    report = doctor.Report(can_run=False, checks=[doctor.Check("namespaces", ok=False, found="not allowed", lack="")])
    monkeypatch.setattr(asked, "examine", lambda: report)
    with pytest.raises(Refused, match=r"^this machine lets no live run: namespaces: not allowed; [^\n]*$"):
        asked.live({"spec": "[queue.codel]"}, tmp_path)


def test_a_live_run_has_the_words_and_the_cell_of_its_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "check_live", lambda: None)
    spec = '[link]\nrate = "10 Mbit/s"\n[queue.codel]\n'
    run = asked.live({"spec": spec, "users.load": "50", "seed": "3"}, tmp_path)
    assert run.words[0] == "live"
    assert Path(run.words[1]).read_text() == spec
    assert run.words[2:6] == ["--set", "users.load=50", "--seed", "3"]
    experiment = lab.Experiment.from_toml(run.words[1], changes=["users.load=50"])
    (simulated,) = cells_of(experiment, [3], lines.known(tmp_path))
    assert run.cells == (replace(simulated, kernel=platform.release()).key,)


def test_a_live_run_takes_a_scheme_in_the_place_of_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "check_live", lambda: None)
    spec = '[link]\nrate = "10 Mbit/s"\n[tcp]\necn = true\n[queue.codel]\ntarget = "7 ms"\n'
    typed = {"scheme": "codel:target=7ms,ecn=true", "link.rate": "10 Mbit/s"}
    assert asked.live(typed, tmp_path).cells == asked.live({"spec": spec}, tmp_path).cells
    for wrong in ("codel:targt=1", "os:system"):
        with pytest.raises(Refused, match=r"^scheme: "):
            asked.live({"scheme": wrong}, tmp_path)


@pytest.mark.usefixtures("_live_permitted")
def test_a_live_run_is_started_from_its_form_and_found_among_the_cells(inside: Visitor) -> None:
    form = {"kind": "live", "scheme": "gsp", "link.rate": "5 Mbit/s", "users.per_side": "20", "seed": "1"}
    short = {"protocol.warmup": "1 s", "protocol.duration": "1 s"}
    status, page, headers = inside.ask("/runs", "POST", {"csrf": inside.csrf(), **form, **short})
    assert status == 303, page
    _, said, _ = inside.ask(headers["Location"] + "/news")
    assert said.endswith("event: end\ndata: 0\n\n"), said
    assert "<td>live" in inside.ask("/?words=gsp")[1]


def test_a_report_is_a_file_and_the_console_goes_on_while_it_is_made(inside: Visitor) -> None:
    _, page, _ = inside.ask("/?words=" + quote("o"))
    keys = re.findall(r'name="cell" value="([0-9a-f]{16})"', page)
    query = "&".join(f"cell={key}" for key in keys)
    assert f"/report?{query}" in unescape(inside.ask(f"/compare?{query}")[1])
    assert f"/report?cell={keys[0]}" in inside.ask(f"/cells/{keys[0]}")[1]
    with ThreadPoolExecutor() as others:
        made = others.submit(inside.ask, f"/report?{query}")
        answered = 0
        while not made.done():
            assert inside.ask("/new")[0] == 200
            answered += 1
    status, report, headers = made.result()
    assert status == 200
    assert answered > 5
    assert headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "droptail:limit=20" in report
    assert "codel" in report
    assert HOSTILE not in report


def test_a_file_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = subprocess.run([sys.executable, "-m", "aqmlab", "console", str(file)], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("aqmlab: DIR: must be a results directory")
