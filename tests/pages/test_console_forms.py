"""The console's forms: what they run, what they refuse and how they say it."""

from __future__ import annotations

import platform
import re
import sys
import time
import tomllib
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.campaigns.grid import Grid
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import cells_of
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import form_fields, job_requests
from aqmlab.disciplines.custom import loader
from aqmlab.live import doctor
from aqmlab.live.kernel_checks import Check
from fixtures.console import Visitor


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"schemes": ""}, "schemes: from 1 to"),
        ({"schemes": "--out /tmp"}, "no discipline is called '--out'"),
        ({"schemes": "os:system"}, "custom laws run from the command line alone"),
        ({"schemes": "codel:targt=5"}, "target"),
        (
            {"schemes": "codel", "seeds": "0"},
            "seeds: must be a number of seeds from 1 to 100, or the first",
        ),
        ({"schemes": "codel", "seeds": "6-4"}, "the first and the last as in 4-6, got '6-4'"),
        ({"schemes": "codel\npi codel"}, "schemes: each must be given once, got codel more than once"),
        ({"schemes": "codel + tcp.congestoin=reno"}, "tcp.congestoin"),
        (
            {"schemes": "codel + queue.codel.target=5 ms"},
            "schemes: codel + queue.codel.target=5 ms: queue belongs to the",
        ),
        ({"schemes": "codel", "protocol.duration": "1 fortnight"}, "protocol.duration"),
        ({"schemes": "codel", "spec": "link = "}, "spec: "),
        ({"schemes": "codel", "spec": '[queue."os:system"]'}, "custom laws run from the command line alone"),
        ({"schemes": "codel", "spec": "\n[lnik]"}, "line 2: lnik: unknown key"),
        ({"schemes": "codel", "spec": "[link]\n\nrate = '1 furlong'"}, "line 3: link.rate: "),
        ({"schemes": "codel", "users.path": "[1, "}, "users.path: not TOML: "),
        ({"schemes": "codel", "users.path": "[1, 2]\nlink = 1"}, "users.path: write one value"),
        ({"schemes": "codel", "link[0].queue": '{"os:system" = {}}'}, "custom laws run from the command line alone"),
        ({"schemes": "codel", "tcp.mix[0].share": "0.5", "users.path": '{"os:system" = {}}'}, "users.path: "),
        ({"schemes": "codel", "spec": "a" + ".a" * 40_000 + " = 1"}, "spec: line 1: must have at most 32 levels"),
        ({"schemes": "codel", "spec": "x = " + "[" * 49_000}, "spec: line 1: must have at most 32 levels"),
        ({"schemes": "codel", "spec": "x = " + "9" * 5_000}, "spec: line 1: a number must have at most 400 digits"),
        ({"schemes": "codel", "users.path": "[" * 3_000}, "users.path: not TOML: line 1: must have at most 32 levels"),
        ({"schemes": "codel", "users.per_side": "9" * 5_000}, "users.per_side: "),
        ({"schemes": "codel:limit=" + "9" * 5_000}, "queue.codel.limit: "),
        ({"schemes": "codel", "sources[0].bulk.flows": "0"}, "sources[0].bulk.flows: "),
    ],
)
def test_an_invalid_form_comes_back_with_one_error_line(visitor: Visitor, form: dict[str, str], says: str) -> None:
    status, page, _ = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})
    assert status == 400
    assert says in unescape(page)


@pytest.mark.parametrize(
    ("form", "invalid_field"),
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
def test_errors_stand_at_their_fields_which_keep_their_values(
    visitor: Visitor, form: dict[str, str], invalid_field: str
) -> None:
    form = {"schemes": "codel", **form}
    status, page, _ = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})
    assert status == 400
    assert f'role="alert" id="error-{invalid_field}"' in page
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
    testbed = "unc-2003"
    link.rate_changes = [{ at = "5 s", rate = "5 Mbit/s" }]
    tcp.mix = [{ share = 0.5, ecn = true }]
    [[sources]]
    bulk = { name = '\U0001f600 "é"', flows = 2, rtt.fixed = "20 ms" }
    [[sources]]
    datagrams = { rate = "1 Mbit/s", bursts = { on.fixed = "1 s", off.exponential.mean = "1 s" } }
    """
    plain = job_requests.comparison({"schemes": "codel", "spec": spec}, tmp_path)
    job = job_requests.comparison({"schemes": "codel", **rows}, tmp_path)
    assert job.cells == plain.cells
    assert job.cells != job_requests.comparison({"schemes": "codel"}, tmp_path).cells


def test_a_form_offers_testbeds_and_the_defaults_of_today(visitor: Visitor, tmp_path: Path) -> None:
    for kind in ("comparison", "sweep"):
        _, page, _ = visitor.ask(f"/new?kind={kind}")
        choices = re.search(r'<select id="testbed".*?</select>', page, re.DOTALL)
        assert choices is not None
        assert ["unc-2003" in choices[0], "<option>none" in choices[0]] == [True, True]
    fields = {"schemes": "codel", "users.per_side": "5", "link.rate": "5 Mbit/s"}
    spec = 'link.rate = "5 Mbit/s"\nusers.per_side = 5\n'
    cells_2003 = job_requests.comparison(fields, tmp_path).cells
    today = job_requests.comparison({**fields, "testbed": "none"}, tmp_path).cells
    assert job_requests.comparison({**fields, "testbed": "unc-2003"}, tmp_path).cells == cells_2003 != today
    assert job_requests.comparison({"schemes": "codel", "spec": spec}, tmp_path).cells == today
    assert (
        job_requests.comparison({"schemes": "codel", "spec": spec, "testbed": "unc-2003"}, tmp_path).cells == cells_2003
    )
    assert set(job_requests.sweep({**fields, "testbed": "none"}, tmp_path).cells) < set(today)
    with pytest.raises(Rejected, match="without one, give a load"):
        job_requests.comparison({"schemes": "codel", "testbed": "none"}, tmp_path)
    with pytest.raises(Rejected, match="without one, give a load"):
        job_requests.comparison({"schemes": "codel", "testbed": "none", "spec": "testbed = 'unc-2003'"}, tmp_path)


def test_a_list_without_kinds_may_have_rows_that_say_nothing(tmp_path: Path) -> None:
    users = {"schemes": "codel", "users.per_side": "5"}
    job = job_requests.comparison({**users, "link[0].rate": "", "link[1].rate": ""}, tmp_path)
    assert (
        job.cells == job_requests.comparison({**users, "spec": "testbed = 'unc-2003'\nlink = [{}, {}]"}, tmp_path).cells
    )
    assert job.cells != job_requests.comparison(users, tmp_path).cells


def test_every_row_that_is_offered_has_a_field_for_each_key(visitor: Visitor) -> None:
    for path, known in form_fields.lists().items():
        for kind in known.kinds:
            query = urlencode({"list": path, "number": 3, "row": kind})
            status, part, _ = visitor.ask(f"/rows?{query}")
            assert status == 200
            for field in form_fields.row(path, 3, kind):
                assert f'name="{field.path}"' in part
            assert "number=4" in part


def test_a_comparison_is_run_watched_and_found_among_the_cells(visitor: Visitor, console_store: Path) -> None:
    spec = '[link]\nrate = "10 Mbit/s"\n[users]\nper_side = 50\n'
    form = {"schemes": "pi:q_ref=12", "spec": spec, "protocol.warmup": "1 s", "protocol.duration": "3 s", "seeds": "1"}
    status, _, headers = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})
    assert status == 303
    _, events, _ = visitor.ask(headers["Location"] + "/events")
    assert events.endswith("event: end\ndata: 0\n\n")
    assert "pi:q_ref=12" in visitor.ask("/?words=pi:q_ref")[1]


def test_a_run_is_stopped_and_only_one_runs_at_a_time(visitor: Visitor) -> None:
    form = {"schemes": "droptail:limit=240", "users.load": "98", "protocol.duration": "30 min", "seeds": "1"}
    _, _, headers = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})
    location = headers["Location"]
    assert visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})[0] == 409
    while visitor.ask(f"{location}/progress")[1].count("<tr>") < 2:
        time.sleep(0.1)
    assert re.search(r'class="network".*? % utilized</text>', visitor.ask(f"{location}/progress")[1], re.DOTALL)
    status, _, _ = visitor.ask(f"{location}/stop", "POST", {"csrf": visitor.csrf()})
    assert status == 303
    _, events, _ = visitor.ask(f"{location}/events")
    assert re.search(r"event: end\ndata: -?\d+\n\n$", events)
    assert not events.endswith("data: 0\n\n")
    assert '<p role="status">stopped</p>' in visitor.ask(location)[1]


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
        ({"grid": "shemes = ['codel']"}, "shemes: is not a key of a grid"),
        ({"grid": "spec = '/etc/hostname'"}, "spec: files are for the command line"),
        ({"grid": "schemes = ['os:system']"}, "custom laws run from the command line alone"),
        ({"grid": "[axes]\n'queue.os:system.x' = [1]"}, "custom laws run from the command line alone"),
        (
            {"grid": "[samples]\npoints = 1\nover.'queue.os:system.x' = {from = 1, to = 2}"},
            "custom laws run from the command line alone",
        ),
        ({"grid": "set = ['queue.os:system.x=1']"}, "custom laws run from the command line alone"),
        (
            {"grid": """set = ['link=[{queue={"os\\u003asystem"={}}}]']"""},
            "custom laws run from the command line alone",
        ),
        ({"grid": """[axes]\nqueue = [{"os:system" = {}}]"""}, "custom laws run from the command line alone"),
        ({"grid": """[[zipped]]\nqueue = [{"os:system" = {}}]"""}, "custom laws run from the command line alone"),
        (
            {"grid": """set = ["users.per_side=1"]\n[axes]\nlink = [[{queue = {"os:system" = {}}}]]"""},
            "custom laws run from the command line alone",
        ),
        ({"grid": GRID, "seeds": "many"}, "seeds: must be a number of seeds"),
        ({"grid": GRID, "limit": "long"}, "limit: "),
        ({"grid": GRID.replace("[5, 20]", "{from = 1, to = 9, steps = 9999}"), "seeds": "2"}, "at most 2,000 cells"),
        ({"grid": GRID.replace("[5, 20]", "[-1]")}, "q_ref"),
        ({"grid": "#" * 110_000}, "grid: has at most 100,000 bytes"),
        ({"grid": "schemes = ['codel']", "schemes": "pi"}, "grid: schemes are given in the form too"),
        ({"grid": "", "axes[0].path": "load", "axes[0].values": "3"}, "axes[0]: "),
        ({"grid": "", "axes[0].path": "users.load", "axes[0].values": ""}, "axes[0]: "),
        ({"grid": "", "axes[0].path": "users.load", "axes[0].values": "{from = 3}"}, "axes[0]: "),
        (
            {"grid": "", "axes[0].path": "queue.os:system.x", "axes[0].values": "1"},
            "custom laws run from the command line alone",
        ),
        (
            {"grid": ""}
            | {f"axes[{n}].{key}": text for n in (0, 1) for key, text in (("path", "users.load"), ("values", "9"))},
            "axes[1]: users.load is varied above",
        ),
    ],
)
def test_an_invalid_sweep_comes_back_with_one_error_line(
    visitor: Visitor, console_store: Path, form: dict[str, str], says: str
) -> None:
    status, page, _ = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), "kind": "sweep", **form})
    assert 400 <= status < 500
    assert says in unescape(page)
    assert all(value in unescape(page) for value in form.values()), "what was typed is there still"
    assert not list(console_store.glob("console/grid-*"))


def test_a_sweep_is_run_and_its_means_are_shown(visitor: Visitor, console_store: Path) -> None:
    form = {"kind": "sweep", "grid": GRID, "seeds": "2", "limit": "1 min"}
    status, _, headers = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form})
    assert status == 303
    _, events, _ = visitor.ask(headers["Location"] + "/events")
    assert events.endswith("event: end\ndata: 0\n\n")
    _, page, _ = visitor.ask(headers["Location"])
    rows = [re.findall(r"<td.*?>(.*?)</td>", row)[:3] for row in re.findall(r"<tr>(<td.*)</tr>", page)]
    assert rows == [["droptail:limit=20", "", "2"], ["pi:ecn=true", "5", "2"], ["pi:ecn=true", "20", "2"]]
    (file,) = console_store.glob("console/grid-*.toml")
    stored = tomllib.loads(file.read_text())
    assert tomllib.loads((file.parent / stored.pop("spec")).read_text()) == {"testbed": "unc-2003"}
    assert stored == tomllib.loads(GRID)


def test_schemes_and_axes_of_fields_are_those_of_a_grid(tmp_path: Path) -> None:
    fields = {
        "schemes": "droptail:limit=20\npi:ecn=true",
        "axes[0].path": "queue.pi.q_ref",
        "axes[0].values": "5, 20",
        "link.rate": "10 Mbit/s",
        "users.per_side": "50",
        "protocol.warmup": "1 s",
        "protocol.duration": "3 s",
    }
    assert job_requests.sweep(fields, tmp_path).cells == job_requests.sweep({"grid": GRID}, tmp_path).cells
    spans = {**fields, "axes[0].values": "{from = 5, to = 20, steps = 2}"}
    assert set(job_requests.sweep(spans, tmp_path).cells) == set(job_requests.sweep({"grid": GRID}, tmp_path).cells)


@pytest.mark.parametrize(
    "form",
    [
        {"schemes": "codel:Mine"},
        {"schemes": "codel.part:Mine"},
        {"schemes": "codel:Mine + tcp.ecn=true"},
        {"schemes": 'codel + queue_back={"codel:Mine"={}}'},
        {"schemes": "mine", "spec": '[variants.mine]\nscheme = "codel:Mine"'},
        {"schemes": "pi", "spec": '[queue."codel:Mine"]'},
        {"schemes": "pi", "link[0].queue": '{"codel:Mine" = {}}'},
        {"kind": "sweep", "grid": '[axes]\nqueue = [{"codel:Mine" = {}}]'},
        {"kind": "sweep", "grid": '[axes.queue]\nmine = {"codel:Mine" = {}}\nother = {pie = {}}'},
        {"kind": "sweep", "grid": """schemes = ['codel + queue_back={"codel:Mine" = {}}']"""},
        {"kind": "sweep", "grid": '[[zipped]]\nqueue = [{"codel:Mine" = {}}]'},
        {"kind": "sweep", "grid": """set = ['queue={"codel:Mine" = {}}']"""},
    ],
)
def test_no_form_imports_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: dict[str, str]) -> None:
    Path(tmp_path, "codel.py").write_text("open('imported', 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with loader.end_imports(), pytest.raises(Rejected):
        job_requests.by_name(form.get("kind", "comparison"))(form, tmp_path / "store")
    assert not Path(tmp_path, "imported").exists()


def test_seeds_of_a_form_are_those_of_the_command_line(tmp_path: Path) -> None:
    form = {"schemes": "codel", "protocol.duration": "1 s", "seeds": "4-6"}
    run = job_requests.comparison(form, tmp_path)
    assert run.argv[run.argv.index("--seeds") + 1] == "4-6"
    assert len(run.cells) == 6, "the scheme and the uncongested network, with three seeds each"
    assert not {*run.cells} & {*job_requests.comparison({**form, "seeds": "3"}, tmp_path).cells}
    grid = {"grid": "schemes = ['codel']", "protocol.duration": "1 s", "seeds": "4-6"}
    assert list(job_requests.sweep(grid, tmp_path).seeds) == [4, 5, 6]


def test_a_form_takes_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = "dualpi2 + tcp.congestion=prague + tcp.ecn=accurate"
    plain = "[variants.plain]\nscheme = 'fq_codel'\ntcp.congestion = 'reno'\n"
    spec = f"[link]\nrate = '10 Mbit/s'\n[users]\nper_side = 5\n{plain}"
    form = {"spec": spec, "schemes": f"{variant}\npi codel\n  plain ", "seeds": "1"}
    run = job_requests.comparison(form, tmp_path)
    assert run.argv[2:6] == [variant, "pi", "codel", "plain"]
    experiment = lab.Experiment.from_toml(run.argv[1])
    assert len(run.cells) == 5
    grid = f"schemes = ['{variant}', 'pi']\n[axes.'link.rate']\nslow = '5 Mbit/s'\nfast = '10 Mbit/s'\n"
    swept = job_requests.sweep({"grid": grid, "users.per_side": "5", "protocol.duration": "1 s"}, tmp_path)
    assert len(swept.cells) == 4
    monkeypatch.setattr(job_requests, "check_live", lambda: None)
    live = job_requests.live({"spec": spec, "scheme": variant}, tmp_path)
    changed_spec = experiment.with_changes(["queue={dualpi2 = {}}", "tcp.congestion=prague", "tcp.ecn=accurate"])
    (cell,) = cells_of(changed_spec, [1], calibration_model.load_calibrations(tmp_path))
    assert live.cells == (replace(cell, kernel=platform.release()).key,)


def test_a_large_grid_is_refused_before_its_points_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grid, "points", lambda _: pytest.fail("points are made"))
    grid_text = "[samples]\npoints = 1_000_000\nover.'users.load' = {from = 1, to = 2}"
    with pytest.raises(Rejected, match="at most 2,000 cells, got 1,000,000"):
        job_requests.sweep({"grid": grid_text}, tmp_path)


def test_a_live_run_is_refused_in_a_line_where_there_can_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aqmlab.live.doctor.PROGRAM", tmp_path / "nothing")
    with pytest.raises(Rejected, match=r"live runs need aqmlab-live, which is missing: .* `make live` builds it"):
        job_requests.live({"spec": "[queue.codel]"}, tmp_path)
    report = doctor.Report(can_run=False, checks=[Check("namespaces", ok=False, found="not allowed", lack="")])
    monkeypatch.setattr(job_requests, "examine", lambda: report)
    with pytest.raises(Rejected, match=r"^this machine does not support live runs: namespaces: not allowed; [^\n]*$"):
        job_requests.live({"spec": "[queue.codel]"}, tmp_path)


WITHOUT_LIVE = """
from pathlib import Path
from aqmlab.running import process
process.PROGRAM = Path("/nowhere/aqmlab-live")
from aqmlab.cli.main import main
main()
"""


def test_live_runs_are_not_offered_without_their_program(console_store: Path) -> None:
    with fixtures.console.console(console_store, sys.executable, "-c", WITHOUT_LIVE) as address:
        visitor = Visitor(address)
        visitor.go_in()
        assert "New live run" not in visitor.ask("/")[1]
        status, page, _ = visitor.ask("/new?kind=live")
    assert status == 409
    assert "<code>make live</code> builds it" in page


def test_a_testbed_is_described_in_the_form(visitor: Visitor) -> None:
    page = visitor.ask("/new")[1]
    assert "<code>unc-2003</code>: The testbed of Le, Aikat, Jeffay and Smith" in page
    assert "docs/guide" not in page


def test_a_live_run_has_the_words_and_the_cell_of_its_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_requests, "check_live", lambda: None)
    spec = '[link]\nrate = "10 Mbit/s"\n[queue.codel]\n'
    run = job_requests.live({"spec": spec, "users.load": "50", "seed": "3"}, tmp_path)
    assert run.argv[0] == "live"
    assert Path(run.argv[1]).read_text() == f"{spec}\n[users]\nload = 50\n"
    assert run.argv[2:4] == ["--seed", "3"]
    experiment = lab.Experiment.from_toml(run.argv[1])
    (simulated,) = cells_of(experiment, [3], calibration_model.load_calibrations(tmp_path))
    assert run.cells == (replace(simulated, kernel=platform.release()).key,)


def test_a_live_run_takes_a_scheme_in_the_place_of_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_requests, "check_live", lambda: None)
    spec = 'testbed = "unc-2003"\n[link]\nrate = "10 Mbit/s"\n[tcp]\necn = true\n[queue.codel]\ntarget = "7 ms"\n'
    fields = {"scheme": "codel:target=7ms,ecn=true", "link.rate": "10 Mbit/s"}
    assert job_requests.live(fields, tmp_path).cells == job_requests.live({"spec": spec}, tmp_path).cells
    for scheme in ("codel:targt=1", "os:system"):
        with pytest.raises(Rejected, match=r"^scheme: "):
            job_requests.live({"scheme": scheme}, tmp_path)


@pytest.mark.usefixtures("_live_permitted")
def test_a_live_run_starts_from_its_form_and_is_listed(visitor: Visitor) -> None:
    form = {"kind": "live", "scheme": "gsp", "link.rate": "5 Mbit/s", "users.per_side": "20", "seed": "1"}
    short = {"protocol.warmup": "1 s", "protocol.duration": "1 s"}
    status, page, headers = visitor.ask("/runs", "POST", {"csrf": visitor.csrf(), **form, **short})
    assert status == 303, page
    _, events, _ = visitor.ask(headers["Location"] + "/events")
    assert events.endswith("event: end\ndata: 0\n\n"), events
    assert '<span class="badge">live</span>' in visitor.ask("/?words=gsp")[1]
