from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
from matplotlib.figure import Figure as Canvas

import aqmlab as lab
from aqmlab import _core, studies
from aqmlab._core import SpecError
from aqmlab.results.result import Result
from aqmlab.running.calibration.lines import known
from aqmlab.running.cell import cells_of
from aqmlab.spec import presets, schemes
from aqmlab.spec.experiment import Experiment
from aqmlab.studies.kit.claims import Between, Claim, Greater
from aqmlab.studies.kit.page import markdown
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table, study_cells, text
from conftest import Command


def throughput(result: Result) -> float:
    return float(result.summary["throughput_mbps"])


class Tiny(Study):
    name: ClassVar[str] = "tiny"
    title: ClassVar[str] = "A tiny study"
    about: ClassVar[str] = "Two schemes."
    sources: ClassVar[dict[str, str]] = {"nobody": "Nobody: Nothing. 2003."}
    lengths: ClassVar[dict[str, Length]] = {
        name: Length(name=name, warmup="1 s", duration=f"{seconds} s", seeds=2)
        for name, seconds in (("quick", 1), ("default", 2), ("full", 3))
    }
    claims: ClassVar[Sequence[Claim]] = (
        Claim(
            id="tiny-1",
            place="Section 1",
            gist="something gets through",
            predicate=Between(what="throughput, Mbit/s", measure=throughput, scheme="droptail", low=0.1),
        ),
        Claim(
            id="tiny-2",
            place="Section 2",
            gist="a scheme carries more than | itself",
            predicate=Greater(what="throughput, Mbit/s", measure=throughput, scheme="pi", than="pi"),
        ),
    )

    def runs(self, length: Length) -> Sequence[Run]:
        bare = Experiment(link={"rate": "10 Mbit/s"}, users={"per_side": 100}, protocol=length.protocol)
        return [
            Run(name=name, experiment=schemes.parse(name).applied_to(bare), label=name) for name in ("droptail", "pi")
        ]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        rows = [[name, sum(map(throughput, each)) / len(each), None] for name, each in results.items()]
        return [Table(name="carried", title="What is carried", columns=("scheme", "Mbit/s", "published"), rows=rows)]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        def draw(canvas: Canvas) -> None:
            canvas.subplots().bar(list(results), [throughput(each[0]) for each in results.values()])

        return [Figure(name="carried", caption="What is carried.", draw=draw, size=(4, 3))]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("aqmlab.studies.tiny")
    module.STUDY = Tiny()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(studies, "STUDIES", (*studies.STUDIES, "tiny"))


def test_a_study_prints_one_json_object_with_tables_and_decided_claims(aqmlab: Command) -> None:
    outcome = aqmlab("study", "tiny", "--json", "--quick")
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert report["study"] == "tiny"
    assert report["length"] == {"name": "quick", "warmup": "1 s", "duration": "1 s", "seeds": 2, "first_seed": 1}
    (table,) = report["tables"]
    assert table["name"] == "carried"
    assert table["columns"] == ["scheme", "Mbit/s", "published"]
    assert [row[0] for row in table["rows"]] == ["droptail", "pi"]
    assert all(row[1] > 0.1 and row[2] is None for row in table["rows"])
    gets_through, more_than_itself = report["claims"]
    assert gets_through.keys() >= {"id", "place", "predicate", "outcome", "numbers"}
    assert (gets_through["id"], gets_through["outcome"]) == ("tiny-1", "holds")
    assert gets_through["predicate"] == "throughput, Mbit/s: droptail is at least 0.1"
    assert gets_through["numbers"]["pairs"] == 2
    assert gets_through["numbers"]["low"] > 0.1
    assert (more_than_itself["outcome"], more_than_itself["numbers"]["estimate"]) == ("fails", 0.0)


def test_the_page_has_claims_tables_figures_and_the_notes_beside_it(aqmlab: Command, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tiny-notes.md").write_text("## What fails\n\nNothing is greater than itself.\n")
    outcome = aqmlab("study", "tiny", "--quick", "--pages", str(pages))
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == str(pages / "tiny.md")
    page = (pages / "tiny.md").read_text()
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        "# A tiny study",
        "## Claims",
        "## What fails",
        "## What is carried",
        "## Figures",
        "## Sources",
    ]
    assert "Made by `aqmlab study tiny --quick`: 1 s of warm-up and 1 s measured, 2 seeds. 4 experiments" in page
    made = json.loads(next((tmp_path / "results/cells").glob("*/metadata.json")).read_text())
    assert made["engine"] == _core.engine_version()
    by = f"engine {made['engine']}" + (f", commit {made['commit']}" if made["commit"] else "")
    assert f"results number {made['results']}, by {by}.\n" in page
    assert "2 claims: 1 holds, 1 fails, 0 undecided." in page
    assert "| tiny-2 | Section 2 | a scheme carries more than \\| itself | **fails** |" in page
    assert "![What is carried.](img/tiny/carried.svg)" in page
    assert (pages / "img/tiny/carried.svg").read_text().startswith("<?xml")


def test_what_takes_long_after_the_experiments_is_told_part_by_part(aqmlab: Command) -> None:
    told = [line for line in aqmlab("study", "tiny", "--quick", "-v").err.splitlines() if line.startswith("report: ")]
    assert told == ["report: claims", "report: tables", "report: figures", "report: figure carried"]


def test_a_second_study_runs_nothing_and_says_the_same(aqmlab: Command, tmp_path: Path) -> None:
    first = aqmlab("study", "tiny", "--quick", "--json")
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "results/cells").rglob("*.parquet")}
    page = (tmp_path / "results/studies/tiny.md").read_bytes()
    second = aqmlab("study", "tiny", "--quick", "--json")
    assert second.out == first.out
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "results/cells").rglob("*.parquet")} == kept
    assert (tmp_path / "results/studies/tiny.md").read_bytes() == page


def test_the_number_of_seeds_can_be_another(aqmlab: Command) -> None:
    report = json.loads(aqmlab("study", "tiny", "--quick", "--json", "--seeds", "3").out)
    assert report["length"]["seeds"] == 3
    assert report["claims"][0]["numbers"]["pairs"] == 3
    assert report["cost"]["cells"] == 6


def test_a_study_can_be_repeated_with_fresh_seeds(aqmlab: Command, tmp_path: Path) -> None:
    report = json.loads(aqmlab("study", "tiny", "--quick", "--json", "--seeds", "4-5").out)
    assert (report["length"]["first_seed"], report["length"]["seeds"]) == (4, 2)
    assert "2 seeds from 4 on" in (tmp_path / "results/studies/tiny.md").read_text()
    assert set(lab.Store(tmp_path / "results").cells()["seed"]) == {4, 5}


def test_what_cannot_be_is_said_in_one_line(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refusals = {
        ("study", "tinier"): "NAME: must be one of ",
        ("study", "tiny", "--quick", "--full"): "--quick: cannot be with --full",
        (
            "study",
            "tiny",
            "--quick",
            "--pages",
            "file/pages",
        ): "--pages: must be a directory to write to, got file/pages (Not a directory)",
    }
    for arguments, message in refusals.items():
        outcome = aqmlab(*arguments)
        assert outcome.code == 2
        assert outcome.out == ""
        (line,) = outcome.err.splitlines()
        assert message in line, "before anything is run"


def test_a_study_is_found_by_its_name_alone() -> None:
    assert isinstance(studies.find("tiny"), Tiny)
    with pytest.raises(SpecError, match=r"^NAME: must be one of .*tiny, got 'Tiny'$"):
        studies.find("Tiny")


def test_the_uncongested_network_has_the_users_of_the_load_on_the_link() -> None:
    class Calm(Tiny):
        def runs(self, length: Length) -> Sequence[Run]:
            loaded = Experiment(users={"load": 50}, protocol=length.protocol)
            return [Run(name="calm", experiment=loaded, label="uncongested", uncongested=True, seeds=1)]

    ((cell,),) = study_cells(Calm(), Tiny.lengths["default"], known()).values()
    (loaded,) = cells_of(Experiment(users={"load": 50}), [1], known())
    assert cell.users_per_side == loaded.users_per_side
    assert (cell.load_percent, cell.signal) == (50, "none")
    assert cell.resolved["link"]["rate"] == presets.UNCONGESTED.rate


def test_numbers_are_shown_as_a_person_reads_them() -> None:
    values = (None, 1234567, 1234.56, 0.0123456, 98.04, "pi")
    assert [text(value) for value in values] == ["", "1,234,567", "1,235", "0.01235", "98.04", "pi"]
    table = Table(name="t", title="T", columns=("a|b", "c"), rows=[["x", 1], ["y", None]])
    assert markdown(table) == "| a\\|b | c |\n|---|---:|\n| x | 1 |\n| y |  |"
