"""The TOML beside a form: merged with the fields, and the preview of its experiment."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of, work
from aqmlab.console.auth import Rejected
from aqmlab.console.forms import estimate, pages, starts, sync
from aqmlab.spec.capacity.link_presets import presets
from aqmlab.storage import marker
from aqmlab.store.store import Store
from aqmlab.topology import svg
from aqmlab.topology.network import stored_topology, topology
from fixtures.console import HOSTILE, Visitor

SPEC = """# mine
testbed = "unc-2003"

[link]
rate = "10 Mbit/s" # slow
[[sources]]
bulk = {flows = 2}
"""


def filled(text: str) -> dict[str, str]:
    return {**sync.field_values(text), "spec": text, "synced": text}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, SPEC),
        ({"link.rate": "5 Mbit/s"}, SPEC.replace("10 Mbit/s", "5 Mbit/s")),
        ({"link.delay": "1 ms"}, SPEC.replace("[link]", '[link]\ndelay = "1 ms"')),
        ({"link.rate": ""}, SPEC.replace('rate = "10 Mbit/s" # slow\n', "")),
        ({"users.load": "90"}, SPEC + "\n[users]\nload = 90\n"),
        ({"testbed": "none"}, SPEC.replace('testbed = "unc-2003"\n', "")),
        ({"spec": SPEC + "# end", "link.rate": "5 Mbit/s"}, SPEC.replace("10 Mbit/s", "5 Mbit/s") + "# end\n"),
    ],
)
def test_an_edited_field_changes_its_line_alone(changes: dict[str, str], expected: str) -> None:
    merged = sync.merged({**filled(SPEC), **changes})
    assert merged == expected
    assert sync.merged(filled(merged)) == merged


def test_a_typed_toml_wins_over_fields_that_nobody_edited() -> None:
    typed = "[users]\nload = 90\n"
    assert sync.merged({**filled(SPEC), "spec": typed}) == typed


def test_rows_are_added_changed_and_removed_in_lists() -> None:
    trace = "\n[[sources]]\ntrace.file = 'a.txt'\n"
    values = filled(SPEC + trace)
    rows = [name for name in values if name.startswith("sources[")]
    assert {name.partition(".")[0] for name in rows} == {"sources[0]"}, "a trace has no fields"
    added = {**values, "sources[1].datagrams.rate": "1 Mbit/s"}
    sources = tomllib.loads(sync.merged(added))["sources"]
    assert sources == [{"trace": {"file": "a.txt"}}, {"bulk": {"flows": 2}}, {"datagrams": {"rate": "1 Mbit/s"}}]
    removed = {name: value for name, value in values.items() if name not in rows}
    assert tomllib.loads(sync.merged(removed))["sources"] == [{"trace": {"file": "a.txt"}}]


def test_what_is_no_toml_is_refused_and_fills_nothing() -> None:
    assert sync.field_values("link = ") == {}
    with pytest.raises(Rejected, match=r"^spec: "):
        sync.merged({**filled(SPEC), "spec": "link = "})


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        ("[users]\n\nload = 9000", "users.load", 3),
        ("[lnik]", "spec", 1),
        ("x = 1\ny = 9z", "spec", 2),
        ("[users]\nload", "spec", 2),
    ],
)
def test_an_error_has_its_field_and_its_line(tmp_path: Path, text: str, field: str, line: int) -> None:
    values = {**filled(text), "schemes": "codel"}
    shown = pages.preview("comparison", values, Store(tmp_path), tmp_path)
    assert (shown.field, shown.line) == (field, line), shown.message
    assert not shown.drawing
    assert not list(tmp_path.iterdir()), "a preview writes nothing"


def test_a_preview_draws_and_estimates(visitor: Visitor) -> None:
    form = {"csrf": visitor.csrf(), "schemes": "codel", "seeds": "1", "synced": "", "spec": "users.load = 50"}
    status, page, _ = visitor.ask("/preview", "POST", form)
    assert status == 200
    assert "<svg" in page
    assert "for 2 cells" in page
    assert 'id="users.load" name="users.load" inputmode="decimal" value="50"' in page
    assert visitor.ask("/preview", "POST", {"schemes": "codel"})[0] == 403
    named = f"users.load = 5\n[[sources]]\nbulk.name = {json.dumps(HOSTILE)}\nbulk.flows = 1\n"
    page = visitor.ask("/preview", "POST", {**form, "spec": named})[1]
    assert "<svg" in page
    assert "<script>" not in page


def test_the_preview_of_a_sweep_is_of_all_its_points(tmp_path: Path) -> None:
    marker.claim(tmp_path)
    files = list(tmp_path.iterdir())
    values = {**pages.initial_values("sweep"), "schemes": "codel\npi", "seeds": "2", "link.rate": "4 Mbit/s"}
    shown = pages.preview("sweep", values, Store(tmp_path), tmp_path)
    assert shown.estimate is not None
    # Two loads, with the three values of one parameter for pi alone, and two seeds.
    assert shown.estimate.cells == (2 + 2 * 3) * 2
    assert "4 Mbit/s" in shown.drawing
    wrong = pages.preview("sweep", {**values, "axes[0].values": "80, many"}, Store(tmp_path), tmp_path)
    assert "users.load" in wrong.message
    assert list(tmp_path.iterdir()) == files, "a preview writes nothing"


@pytest.mark.parametrize(("fifo", "notes"), [("", ["256 packets, 307 ms at 10 Mbit/s."]), ("0", [])])
def test_a_long_device_fifo_is_noted_before_the_start(tmp_path: Path, fifo: str, notes: list[str]) -> None:
    marker.claim(tmp_path)
    values = {
        **filled('testbed = "unc-2003"\n'),
        "schemes": "codel",
        "link.rate": "10 Mbit/s",
        "link.device_fifo": fifo,
    }
    shown = pages.preview("comparison", {**values, "users.per_side": "50"}, Store(tmp_path), tmp_path)
    assert shown.message == ""
    assert [note.partition("A full one holds ")[2] for note in shown.notes] == notes


def test_an_empty_field_names_the_value_of_its_testbed(visitor: Visitor) -> None:
    fifo = 'name="link.device_fifo" inputmode="numeric" value="" placeholder='
    assert f'{fifo}"256"' in visitor.ask("/new")[1]
    form = {"csrf": visitor.csrf(), "schemes": "codel", "seeds": "1", "users.load": "50", "testbed": "none"}
    text = 'testbed = "unc-2003"\n'
    page = visitor.ask("/preview", "POST", {**form, "spec": text, "synced": text})[1]
    assert f'{fifo}"1"' in page, "another testbed is chosen"


STARTS = [start for group in starts.starts().values() for start in group]


@pytest.mark.parametrize("kind", ["comparison", "sweep"])
@pytest.mark.parametrize("name", [start.name for start in STARTS])
def test_a_form_starts_from_a_valid_experiment(tmp_path: Path, kind: str, name: str) -> None:
    marker.claim(tmp_path)
    shown = pages.preview(kind, {**pages.initial_values(kind, name), "seeds": "1"}, Store(tmp_path), tmp_path)
    assert shown.message == ""
    assert shown.drawing


def test_starts_are_the_examples_and_the_presets_of_links(visitor: Visitor) -> None:
    written, households = starts.starts().values()
    for start in written:
        assert start.text == (Path(__file__).parents[2] / "examples" / f"{start.name}.toml").read_text()
    assert [start.name for start in households] == [preset.name for preset in presets()]
    page = visitor.ask("/new?from=docsis-3.1")[1]
    assert "Cable (docsis-3.1 250/25)" in page
    assert 'value="docsis-3.1 250/25"' in page
    assert visitor.ask("/new?from=nothing")[0] == 404
    with pytest.raises(Rejected, match="this form starts from no experiment"):
        pages.initial_values("live", "geo")


def test_an_estimate_is_the_work_at_the_median_cost(console_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(console_store)
    results = [result for key in store.cells()["cell"] if (result := store.get_by_key(key)) is not None]
    cells = cells_of(lab.Experiment(users={"per_side": 500}), [1, 2])
    monkeypatch.setattr(estimate, "available_cpus", lambda: 2)
    found = estimate.estimate([*cells, results[0].cell], store)
    costs = sorted(result.metadata["cpu_s"] / work(result.cell) for result in results)
    assert found.seconds == pytest.approx(costs[len(costs) // 2] * work(cells[0]))
    assert (found.cells, found.stored) == (2, 1)
    texts = {5: "a few seconds", 80: "about 80 seconds", 100: "about 2 minutes", 7200: "about 2 hours"}
    assert {seconds: replace(found, seconds=seconds).text for seconds in texts} == texts


@pytest.mark.parametrize("links", [{"rate": "5 Mbit/s"}, [{"rate": "5 Mbit/s"}, {"rate": "2 Mbit/s"}]])
def test_a_network_is_drawn_with_the_state_of_its_links(links: Any) -> None:
    experiment = lab.Experiment(link=links, users={"per_side": 5}, sources=[{"bulk": {"flows": 2, "name": "<b>"}}])
    (cell,) = cells_of(experiment, [1])
    network = topology(experiment, cell.spec)
    state = svg.DirectionState(throughput_mbps=4.2, utilisation=0.5, queue_packets=31, delay_ms=12.34, loss_percent=0)
    drawing = svg.draw(network, [(state, svg.DirectionState())] * len(network.links))
    tree = ElementTree.fromstring(drawing)
    texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    for text in ("4.2 Mbit/s", "50 % utilized", "queue 31 packets", "delay 12.3 ms", "loss 0 %", "5 Mbit/s"):
        assert text in texts
    loads = [part for part in tree.iter() if part.get("class") == "load"]
    lanes = [part for part in tree.iter() if part.get("class") == "lane"]
    assert len(lanes) == 2 * len(network.links)
    assert float(loads[0].attrib["width"]) == pytest.approx(float(lanes[0].attrib["width"]) / 2, abs=0.1)
    assert "<b>" not in drawing
    assert stored_topology(cell.spec) == network


@pytest.mark.parametrize(("rate", "is_wide"), [("5 Mbit/s", False), ({"up": "1.25 Mbit/s", "down": "1 Gbit/s"}, True)])
def test_a_wide_rate_stands_above_the_routers(rate: Any, is_wide: bool) -> None:
    (cell,) = cells_of(lab.Experiment(link=[{"rate": rate}, {"rate": rate}], users={"per_side": 5}), [1])
    tree = ElementTree.fromstring(svg.draw(stored_topology(cell.spec)))
    (text, _), (router, *_) = (
        [part for part in tree.iter() if part.get("class") == name] for name in ("rate", "router")
    )
    top = float(router.attrib["cy"]) - float(router.attrib["r"])
    assert (float(text.attrib["y"]) < top - 3) == is_wide
