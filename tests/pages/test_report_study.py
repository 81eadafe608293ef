"""A study's report: which length it is of, that it says what the study's pages say, and that it is safe to open."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure as Canvas

import aqmlab as lab
from aqmlab.cells.cell import Cell
from aqmlab.reports import reproduce
from aqmlab.reports.selection import Choice
from aqmlab.reports.study import html, load_report
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from aqmlab.studies.kit.page import write_page
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import Figure, Table, study_cells
from aqmlab.ui import markdown
from conftest import Command
from fixtures.reports import Page
from fixtures.study import Tiny, register

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \"'&\u202e</style> [to](javascript:alert(1))"
NOTES = "## Findings\n\nSomething gets through.\n\n## What fails\n\nNothing is greater than itself.\n"


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def cells(length: str, seeds: range = range(1, 3)) -> list[Cell]:
    length_of_seeds = Tiny.lengths[length].repeated(seeds)
    return [cell for group in study_cells(Tiny(), length_of_seeds, {}).values() for cell in group]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the quick length and the default one, and a cell of the full one."""
    folder = tmp_path_factory.mktemp("store")
    sweep([*cells("quick"), *cells("default"), cells("full")[0]], Store(folder), workers=1)
    return folder


@pytest.fixture(scope="module")
def report(out: Path) -> Iterator[Report]:
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        yield load_report(out, Choice(cells=["tiny"]))


@pytest.fixture
def copied(out: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(out, tmp_path / "results"))


def words(text: str) -> str:
    return " ".join(text.split())


def test_it_is_about_the_longest_length_that_is_there_whole(report: Report) -> None:
    assert report.length == Tiny.lengths["default"]
    assert report.distinct.keys() == {cell.key for cell in cells("default")}


def test_it_says_what_the_pages_of_the_study_say(report: Report, tmp_path: Path) -> None:
    (tmp_path / "tiny-notes.md").write_text(NOTES)
    write_page(report, tmp_path)
    page = Page(html(report, NOTES))
    for name in ("tiny", "tiny-details"):
        for line in (tmp_path / f"{name}.md").read_text().splitlines():
            if line.startswith("|") and not set(line) <= set("|-: "):
                for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                    assert words(cell.replace("**", "").replace("\\|", "|").replace("`", "")) in words(page.text)
    for sentence in (report.study.title, "Something gets through.", "Nothing is greater than itself.", report.command):
        assert sentence in page.text
    for claim in report.distinct.values():
        assert claim.cell.key in page.text
        assert claim.metadata["files"]["summary.parquet"]["sha256"] in page.text
        assert claim.metadata["engine"] in page.text


def test_the_first_spec_with_the_differences_is_the_spec_of_each(report: Report) -> None:
    text = Page(html(report, "")).text
    first, second = (report.results[run][0].cell.resolved for run in ("droptail", "pi"))
    assert reproduce.toml(first) in text
    for name, value in second["queue"]["pi"].items():
        assert f"queue.pi.{name}={json.dumps(value)}" in text
    assert "no queue.droptail.limit" in text


def test_the_page_can_ask_no_network_and_runs_no_script(report: Report) -> None:
    page = Page(html(report, NOTES))
    assert page.scripts == []
    assert page.policy == {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    pictures = [attrs for tag, attrs in page.tags if tag == "img"]
    assert [picture["alt"] for picture in pictures] == ["What is carried.", "What is carried-too."]
    for _, attrs in page.tags:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert str(attrs.get(name, "data:")).startswith("data:")
        assert not any(name.startswith("on") for name in attrs)


def test_words_of_others_are_shown_as_text(report: Report) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.subplots().set_title(HOSTILE)

    table = Table(name="t", title=HOSTILE, columns=(HOSTILE, "n"), rows=[[HOSTILE, 1]], about=HOSTILE)
    figure = Figure(name="f", caption=HOSTILE.replace("[to](javascript:alert(1))", ""), draw=draw)
    named = replace(report, tables=[table], figures=[figure])
    page = Page(html(named, f"## Findings\n\n{HOSTILE}\n\n<script>\nalert(2)\n</script>\n\n## More\n\n{HOSTILE}\n"))
    assert page.scripts == []
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "a", "iframe", "object", "form", "svg"})
    assert sum(tag == "style" for tag, _ in page.tags) == 1
    assert sum(tag == "img" for tag, _ in page.tags) == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert page.text.count("<script>alert(1)</script>") >= 5
    assert "\u202e" not in page.whole
    assert "⟨U+202E⟩" in page.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md) <https://c.d> ![e](f.svg)", "<p>a https://c.d e</p>\n"),
        ("<details><summary>a</summary>\n\nb\n\n</details>", "<details><summary>a</summary>\n<p>b</p>\n</details>\n"),
        ("<details><summary>a</summary>\n\nb", "<details><summary>a</summary>\n<p>b</p>\n</details>\n"),
        ("a\n\n</details>", "<p>a</p>\n<p>&lt;/details&gt;</p>\n"),
        (
            "<details onclick=a><summary>b</summary>",
            "<p>&lt;details onclick=a&gt;&lt;summary&gt;b&lt;/summary&gt;</p>\n",
        ),
        ("<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"),
    ],
)
def test_of_html_in_markdown_only_details_are_kept(text: str, expected: str) -> None:
    assert markdown.html(text, {}) == expected


def test_a_table_scrolls_by_keyboard_and_has_its_headings_name() -> None:
    html = markdown.html('## A "b"\n\n| c | d |\n|---|---:|\n| e | 1 |\n', {})
    assert '<div class="wide" tabindex="0" role="region" aria-label="A &quot;b&quot;">' in html
    assert "<td>e</td>" in html
    assert '<td class="n">1</td>' in html


def test_the_same_cells_give_the_same_file(aqmlab: Command, copied: Path, tmp_path: Path, report: Report) -> None:
    (copied / "studies").mkdir()
    (copied / "studies/tiny-notes.md").write_text(NOTES)
    outcome = aqmlab("report", "tiny", "-o", "tiny.html")
    assert (outcome.code, outcome.out, outcome.err) == (0, "tiny.html\n", "")
    text = (tmp_path / "tiny.html").read_text(encoding="utf-8")
    assert text == html(report, NOTES)
    assert lab.report("tiny", to=tmp_path / "again.html").read_text(encoding="utf-8") == text


Break = Callable[[Path], Any]


def nothing(_: Path) -> None:
    pass


def empty(store: Path) -> None:
    shutil.rmtree(store / "cells")


def lose(store: Path) -> None:
    for length in ("quick", "default"):
        shutil.rmtree(store / "cells" / cells(length)[0].key)
    shutil.rmtree(store / "cells" / cells("quick")[1].key)


@pytest.mark.parametrize(
    ("change", "arguments", "reason"),
    [
        (
            lose,
            [],
            "CELL: tiny is not whole in results: 3 of 4 cells of its length default (1 s of warm-up and 2 s measured,"
            " seeds 1 to 2); aqmlab study tiny runs what is missing",
        ),
        (empty, [], "CELL: tiny is not whole in results: 0 of 4 cells of its length default (1 s of warm-up"),
        (nothing, ["--seeds", "1-3"], "CELL: tiny is not whole in results: 4 of 6 cells of its length default"),
        (nothing, ["tiny"], "CELL: a study is reported by itself, got tiny, tiny"),
        (nothing, ["0123"], "CELL: a study is reported by itself, got tiny, 0123"),
        (nothing, ["--load", "98"], "load: cannot be with a study, which has loads of its own, got 98"),
        (nothing, ["--explain"], "explain: cannot be with a study, whose cells are too many to be run once more"),
        (
            nothing,
            ["--scheme", "codel"],
            "SCHEME: cannot be with tiny, which has the schemes of its paper, got codel",
        ),
        (nothing, ["-o", "nowhere/r.html"], "nowhere/r.html: cannot be written: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(aqmlab: Command, copied: Path, change: Break, arguments: list[str], reason: str) -> None:
    change(copied)
    outcome = aqmlab("report", "tiny", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"aqmlab: {reason}")
    assert outcome.err.count("\n") == 1
    assert not (copied.parent / "report.html").exists()


def test_a_study_of_other_schemes_is_found_by_them(tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=r"^CELL: rfc7928 .* 0 of .*; aqmlab study rfc7928 --aqm pi2 --out .* runs"):
        load_report(tmp_path, Choice(cells=["rfc7928"], schemes=["pi2"]))


def test_a_damaged_cell_is_left_out_and_other_lengths_reported(copied: Path) -> None:
    (copied / "cells" / cells("default")[1].key / "metadata.json").write_text("{")
    assert load_report(copied, Choice(cells=["tiny"])).length.name == "quick"
    assert not (copied / "damaged").exists(), "reading moves nothing"


def test_seeds_of_a_study_follow_one_another(out: Path) -> None:
    assert load_report(out, Choice(cells=["tiny"], seeds=[2])).length.first_seed == 2
    with pytest.raises(lab.SpecError, match=r"^seeds: must be consecutive in a study, got \[1, 3\]$"):
        load_report(out, Choice(cells=["tiny"], seeds=[3, 1]))


def test_what_takes_long_is_told_part_by_part(aqmlab: Command, copied: Path) -> None:
    stderr = aqmlab("report", "tiny", "-v").err.splitlines()
    parts = ["claims", "tables", "figures", "figure carried", "figure carried-too"]
    assert stderr == [f"report: {part}" for part in parts]


def test_a_figure_costs_its_own_size_and_there_is_no_library(report: Report) -> None:
    def size(named: Report) -> int:
        return len(html(named, "").encode())

    bare = size(replace(report, figures=[]))
    assert bare < 100_000
    assert size(report) < bare + 2 * 40_000
