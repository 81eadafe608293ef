"""The report: what it is about, that its sentences and tables are the results', and that it is safe to open."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab import stats
from aqmlab.cells.cell import cells_of
from aqmlab.reports import narrative, reproduce
from aqmlab.reports.page import html
from aqmlab.reports.ranking import rankings
from aqmlab.reports.selection import Choice, Selection, select
from aqmlab.results import table, timeseries
from aqmlab.results.cells import comparison_cells
from aqmlab.results.comparison import Comparison
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from conftest import Command, Write
from fixtures.metadata import LATE, reseal
from fixtures.reports import HOSTILE, LONG, SCHEMES, Page, experiment, store

LABELS = ("uncongested", *SCHEMES)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def selection(out: Path) -> Selection:
    return select(out, Choice())


@pytest.fixture(scope="module")
def page(selection: Selection) -> Page:
    return Page(html(selection))


def test_without_cells_it_is_about_the_newest_comparison(out: Path, selection: Selection) -> None:
    assert list(selection.by_label) == ["uncongested", *SCHEMES]
    assert {cell.cell.users_per_side for cell in selection.valid} == {1200}
    assert all([result.cell.seed for result in results] == [1, 2, 3] for results in selection.by_label.values())


def test_cells_are_chosen_by_key_scheme_seed_and_load(out: Path, selection: Selection) -> None:
    codel_results = selection.by_label["codel"]
    keys = [result.directory.name for result in codel_results]
    for key in (keys[0][:12], str(codel_results[0].directory), f"{codel_results[0].directory}/"):
        assert [result.directory.name for result in select(out, Choice(cells=[key])).valid] == keys[:1]
    assert list(select(out, Choice(schemes=["pie"])).by_label) == ["uncongested", "pie:ecn=true"]
    assert {result.cell.seed for result in select(out, Choice(seeds=range(2, 4))).valid} == {2, 3}
    load = Store(out).cells().filter(users_per_side=50)["load_percent"][0]
    assert [result.cell.users_per_side for result in select(out, Choice(load=load)).valid] == [50]


def test_the_first_requested_scheme_is_the_reference(out: Path) -> None:
    chosen = select(out, Choice(schemes=["codel", "droptail"]))
    assert chosen.labels == ["codel", "droptail:limit=20"]
    assert {scheme["paired"]["to"] for scheme in chosen.schemes if "paired" in scheme} == {"codel"}


def test_a_ranking_has_an_interval_below_its_difference(selection: Selection) -> None:
    shown = re.findall(r'<span class="difference">(.*?)</span>', html(selection))
    assert len(shown) == 3 * (len(SCHEMES) - 1)
    assert all(re.fullmatch(r"[+-][^<\[]+ <small>\[[^<]+\]</small>", text) for text in shown)


def sentences(selection: Selection) -> list[str]:
    return narrative.answer(selection, rankings(selection), {label: label for label in selection.by_label})


def test_sentences_name_the_best_and_those_not_told_from_it(selection: Selection) -> None:
    for sentence, share in zip(sentences(selection), ("p50", "p90"), strict=False):
        values = {
            label: np.array([result.measure(f"response_time_ms.{share}") for result in selection.by_label[label]])
            for label in SCHEMES
        }
        first, *following = stats.from_best(values).items()
        assert f"shortest under {first[0]}, " in sentence
        for label, difference in following:
            assert difference is not None
            assert (label in sentence) == (not difference.is_significant)


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_seeds_tell_nothing_apart(out: Path, seeds: int) -> None:
    few = select(out, Choice(seeds=range(1, seeds + 1)))
    answer = " ".join(sentences(few))
    assert "too few to distinguish schemes" in answer
    assert "shortest" not in answer
    assert not any(rank.interval or rank.verdict for one in rankings(few) for rank in one.ranks.values())


def test_the_difference_is_of_seeds_that_all_have(out: Path, selection: Selection) -> None:
    keys = [item.directory.name for item in selection.valid if (item.cell.label, item.cell.seed) != ("codel", 2)]
    subset = select(out, Choice(cells=keys))
    assert all([item.cell.seed for item in results] == [1, 3] for results in subset.pairs.values())
    two = Comparison(tuple(item for item in subset.valid if item.cell.seed != 2), paired=True).schemes
    assert [item.get("paired") for item in subset.schemes] == [item.get("paired") for item in two]
    assert any("different seeds" in note for note in narrative.notes(subset))


def test_tables_and_sentences_have_the_numbers_of_compare(selection: Selection, page: Page) -> None:
    paired = Comparison(tuple(item for item in selection.valid), paired=True).schemes
    assert [item.get("paired") for item in selection.schemes] == [item.get("paired") for item in paired]
    for part in table.parts(paired):
        for cells in part.cells():
            assert all(number in page.text for number, _ in cells)
    best = min(selection.schemes[1:], key=lambda scheme: scheme["response_time_ms"]["p90"])
    ((scheme, mean),) = re.findall(r"The 90th percentile is shortest under (.*?), ([\d,.]+) ms", page.text)
    assert scheme == best["label"]
    assert float(mean.replace(",", "")) == pytest.approx(best["response_time_ms"]["p90"], rel=0.005)


@pytest.mark.parametrize("order", [("droptail", "pie", "codel"), ("pie", "codel", "droptail")])
def test_commands_and_files_make_the_same_cells_again(out: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    selection = select(out, Choice(schemes=order))
    (step,) = reproduce.steps(selection)
    (tmp_path / step.file).write_text(step.spec)
    assert step.commands == [f"aqmlab compare experiment.toml {' '.join(selection.labels)} --seeds 1-3"]
    cells = comparison_cells(selection.labels, lab.Experiment.from_toml(tmp_path / step.file), [1, 2, 3], {})
    assert {cell.key for cell in cells} == {result.directory.name for result in selection.valid}


def test_cells_of_no_single_comparison_have_a_file_per_scheme(selection: Selection, tmp_path: Path) -> None:
    results = selection.by_label["codel"]
    strange = Selection(tuple(replace(result, cell=replace(result.cell, label="my own")) for result in results), ())
    (step,) = reproduce.steps(strange)
    (tmp_path / step.file).write_text(step.spec)
    assert step.commands == [f"aqmlab run 1.toml --seed {seed}" for seed in (1, 2, 3)]
    (cell,) = cells_of(lab.Experiment.from_toml(tmp_path / step.file), [1])
    assert cell.key == results[0].directory.name


def test_no_module_is_imported_because_a_cell_has_its_name(
    selection: Selection, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(file.parent)
    results = selection.by_label["codel"]
    steps = reproduce.steps(
        Selection(tuple(replace(result, cell=replace(result.cell, label="my_module:Law")) for result in results), ())
    )
    assert [step.file for step in steps] == ["1.toml"]


def test_the_page_uses_no_network_and_only_its_own_script(page: Page) -> None:
    for _, attrs in page.tags:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert attrs.get(name, "data:,") == "data:,"
        assert not any(name.startswith("on") for name in attrs)
    assert "@import" not in page.whole.partition("</style>")[0]
    assert "url(" not in page.whole.partition("</style>")[0]
    policy = page.policy
    assert policy["default-src"] == ["'none'"]
    assert set(policy) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts[1:]]
    assert policy["script-src"] == [f"'sha256-{script}'" for script in hashes]
    assert "url" not in {key for chart in page.data["charts"].values() for key in _keys(chart["views"])}


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def test_names_are_shown_as_text(selection: Selection) -> None:
    cells = selection.by_label["codel"][:1]
    labels = (HOSTILE, LONG, LONG + "y", "plain")
    renamed = tuple(replace(cells[0], cell=replace(cells[0].cell, label=label)) for label in labels)
    hostile = Page(html(Selection(renamed, ())))
    assert len(hostile.scripts) == len(Page(html(selection)).scripts)
    assert "alert(1)" in json.dumps(hostile.data)
    assert all(character not in hostile.whole for character in ("\u202e", "\u2028"))
    assert "<script>alert(1)</script>\"'&⟨U+202E⟩⟨U+2028⟩</style>" in hostile.text
    assert sum(tag == "style" for tag, _ in hostile.tags) == 1
    assert LONG not in hostile.scripts[0]
    assert len(set(hostile.data["schemes"])) == len(labels)
    assert len(hostile.whole) < 3e6


def test_a_report_of_twenty_schemes_is_below_8_mb(selection: Selection) -> None:
    results = selection.by_label["pie:ecn=true"]
    relabelled = tuple(
        replace(result, cell=replace(result.cell, label=f"{number}: {'n' * 60}"))
        for number in range(20)
        for result in results
    )
    page = html(Selection(relabelled, ()))
    assert len(page.encode()) < 8e6
    assert len(Page(page).data["charts"]["delay"]["rows"]) > 20 * timeseries.BINS


def test_invalid_live_runs_are_named_and_left_out(out: Path, tmp_path: Path) -> None:
    doctored = tmp_path / "store"
    shutil.copytree(out, doctored)
    whole = select(doctored, Choice())
    bad = whole.by_label["codel"][2].directory
    reseal(bad, live=LATE)
    partly = select(doctored, Choice())
    assert [result.directory for result in partly.invalid] == [bad]
    assert [result.cell.seed for result in partly.by_label["codel"]] == [1, 2]
    page = Page(html(partly))
    assert "seed 3 is invalid and left out: the router was late." in page.text
    assert "INVALID" in page.text
    with pytest.raises(lab.SpecError, match="all runs are invalid live runs"):
        select(doctored, Choice(cells=[bad.name]))


def test_the_same_cells_give_the_same_file(out: Path, tmp_path: Path, selection: Selection) -> None:
    file = lab.report(out=out, to=tmp_path / "a.html")
    assert file.read_text(encoding="utf-8") == html(selection)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["0123"], "CELL: must be a cell of store, got '0123', which is no cell; aqmlab ls --paths lists them"),
        (["."], "CELL: must be a cell of store, got '.', which is no cell; aqmlab ls --paths lists them"),
        (["--scheme", "red"], "CELL: no such cell in store; aqmlab ls lists all cells"),
        (["--seeds", "x"], "--seeds: must be a number of seeds"),
        (["-o", "nowhere/r.html"], "nowhere/r.html: cannot be written: No such file or directory"),
        (["--out", "nowhere"], "--out: must be a results directory, got nowhere"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, tmp_path: Path, out: Path, arguments: list[str], reason: str) -> None:
    (tmp_path / "store").symlink_to(out)
    outcome = aqmlab("report", *([] if "--out" in arguments else ["--out", "store"]), *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"aqmlab: {reason}")
    assert outcome.err.count("\n") == 1


def test_the_command_writes_a_file_and_says_where(aqmlab: Command, tmp_path: Path, out: Path) -> None:
    outcome = aqmlab("report", "--out", str(out), "--scheme", "codel", "-o", "r.html")
    assert (outcome.code, outcome.out) == (0, "r.html\n")
    assert Page((tmp_path / "r.html").read_text()).data["schemes"] == ["uncongested", "codel"]


def test_a_results_directory_is_reported_by_its_name_alone(aqmlab: Command, out: Path) -> None:
    outcome = aqmlab("report", str(out), "-o", "r.html")
    assert (outcome.code, outcome.out) == (0, "r.html\n")
    repeat = aqmlab("report", str(out), "--out", "another", "-o", "r.html")
    assert repeat.code == 2
    assert repeat.err == f"aqmlab: CELL: {out} is a results directory, and --out another one, another\n"


def test_how_cells_were_made_is_said_once_where_it_is_alike(selection: Selection, page: Page) -> None:
    metadata = selection.valid[0].metadata
    assert f"engine {metadata['engine']}, commit" in page.text
    assert page.text.count(metadata["engine"]) == 1
    other_result = replace(selection.valid[0])
    other_result.__dict__["metadata"] = {**metadata, "python": "3.14.0"}
    mixed = Page(html(Selection((other_result, *selection.valid[1:]), ())))
    assert mixed.text.count(metadata["python"]) == len(selection.valid) - 1
    assert "3.14.0" in mixed.text


def test_what_is_explained_further_is_a_cell_behind_a_queue(selection: Selection, page: Page) -> None:
    (key,) = re.findall(r"aqmlab explain results/cells/(\w+)", page.text)
    assert key == selection.by_label[SCHEMES[0]][0].location.name


def test_traffic_without_web_users_is_reported_too(tmp_path: Path) -> None:
    datagrams = [{"datagrams": {"rate": "2 Mbit/s", "packet": "1000 B"}}]
    source_only = experiment(users={"per_side": 0}, sources=datagrams, link={"rate": "1 Mbit/s"})
    cells = [*cells_of(source_only, [1]), *cells_of(source_only, [2])]
    sweep(cells, Store(tmp_path))
    without = select(tmp_path, Choice())
    page = Page(html(without))
    assert "response-times" not in page.data["charts"]
    assert "delay" in page.data["charts"]
    assert "mean queueing delay forward, ms" in page.text
