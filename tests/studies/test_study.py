from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab import _core, studies
from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import cells_of
from aqmlab.spec import presets
from aqmlab.spec.experiment import Experiment
from aqmlab.studies.kit import index
from aqmlab.studies.kit.claims.registered import Registration, registration
from aqmlab.studies.kit.page import markdown, write_texts
from aqmlab.studies.kit.report import Report, read_record, write_record
from aqmlab.studies.kit.study import Length, Run, Table, study_cells, text
from conftest import Command
from fixtures.study import Tiny, register


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_a_study_prints_a_json_object_with_tables_and_claims(aqmlab: Command) -> None:
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
    gets_through, more_than_pi, *_ = report["claims"]
    assert gets_through.keys() >= {"study", "id", "place", "predicate", "first", "second", "cause", "parts", "held"}
    assert (gets_through["study"], gets_through["id"], gets_through["first"]) == ("tiny", "tiny-1", "holds")
    assert (gets_through["predicate"], gets_through["evidence"]) == ("throughput is at least 0.1", "2 pairs")
    assert gets_through["reviewed"][0] == "throughput, Mbit/s, droptail is at least 0.1"
    assert gets_through["numbers"]["pairs"] == 2
    assert gets_through["numbers"]["low"] > 0.1
    assert (more_than_pi["first"], more_than_pi["numbers"]) == ("fails", None)


def test_the_table_of_a_study_has_the_numbers_of_its_json(aqmlab: Command) -> None:
    (table,) = json.loads(aqmlab("study", "tiny", "--json", "--quick", "--table", "tiny.parquet").out)["tables"]
    rows = pl.read_parquet("tiny.parquet")
    assert rows.columns == ["table", "row", "what", "column", "value"]
    assert [(row["what"], row["value"]) for row in rows.to_dicts()] == [(row[0], row[1]) for row in table["rows"]]


def test_both_readings_of_a_claim_stand_side_by_side_in_the_json(aqmlab: Command) -> None:
    report = json.loads(aqmlab("study", "tiny", "--json", "--quick").out)
    first, second, third = report["claims"]
    fields = ("study", "id", "first", "second", "cause", "parts", "held")
    assert [first[field] for field in fields] == ["tiny", "tiny-1", "holds", "holds", "none", 2, 2]
    # The paper's own table has it the other way round, and there is no other part.
    assert [second[field] for field in fields] == ["tiny", "tiny-2", "fails", "inconsistent", "paper", 0, 0]
    assert second["contradicted"] == ["throughput, Mbit/s, pi above throughput, Mbit/s, droptail (not so in the paper)"]
    assert [third[field] for field in fields] == ["tiny", "tiny-3", None, "holds", "none", 1, 1]
    assert third["phrase"] == "is itself"


def test_the_page_has_the_outcomes_and_links_the_details(aqmlab: Command, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tiny-notes.md").write_text(
        "## Findings\n\nSomething gets through.\n\n## What fails\n\nNothing is greater than itself.\n"
    )
    outcome = aqmlab("study", "tiny", "--quick", "--pages", str(pages))
    assert outcome.code == 0
    assert outcome.out.startswith("Testbed unc-2003: ")
    assert outcome.out.splitlines()[-1] == str(pages / "tiny.md")
    page, details = ((pages / name).read_text() for name in ("tiny.md", "tiny-details.md"))

    def headings(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("#")]

    assert headings(page) == ["# A tiny study", "## Outcomes", "## Findings", "## What is carried", "## Figures"]
    assert headings(details) == [
        "# A tiny study: details",
        "## Claims",
        "### First reading",
        "### Second reading",
        "## What fails",
        "## Sources",
    ]
    made = json.loads(next((tmp_path / "results/cells").glob("*/metadata.json")).read_text())
    assert made["engine"] == _core.engine_version()
    by = f"engine {made['engine']}" + (f", commit {made['commit']}" if made["commit"] else "")
    for each in (page, details):
        assert (
            "Made by `aqmlab study tiny --quick`: 1 s of warm-up and 1 s measured, seeds 1 to 2. 4 experiments" in each
        )
        assert f"results number {made['results']}, by {by}.\n" in each
        assert "were fixed after the first results had been seen" in each
    assert "| first, registered before any result | 2 | 1 | 1 | 0 | 0 |" in page
    assert "| **second** | 3 | 2 | 0 | 0 | 1 |" in page
    row = "| tiny-2 | a scheme carries more than \\| itself | inconsistent | 0 of 0 | the paper's own numbers |"
    assert row in page
    assert "Nothing differs." in details
    assert "Decided by results number 1: seeds 1 to 2." in details
    assert "*More* is any difference." in details
    assert "| tiny-2 | Section 2 | a scheme carries more than \\| itself | **fails** |" in details
    assert "| tiny-1 |  | “gets through” | **holds** | 2 of 2 | holds, holds |  |" in details
    assert "![What is carried.](img/tiny/carried.svg)" in page
    assert (pages / "img/tiny/carried.svg").read_text().startswith("<?xml")


def test_front_tables_are_on_the_page_and_others_in_details(
    aqmlab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tiny, "front", ("carried-too",))
    assert aqmlab("study", "tiny", "--quick").code == 0
    page, details = ((tmp_path / "results/studies" / name).read_text() for name in ("tiny.md", "tiny-details.md"))
    assert "carried-too.svg" in page
    assert "carried.svg" not in page
    assert "carried.svg" in details
    assert "## What is carried" in details


def test_a_study_without_parts_refuses_one(aqmlab: Command, tmp_path: Path) -> None:
    outcome = aqmlab("study", "tiny", "--quick", "--only", "then")
    assert (outcome.code, outcome.err) == (2, "aqmlab: --only: cannot be with tiny, which has no parts, got 'then'\n")
    assert not (tmp_path / "results").exists()


def test_claims_are_counted_beside_those_of_other_studies(aqmlab: Command, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    other = {"id": "other-1", "first": "holds", "second": "fails", "parts": 2, "held": 1}
    (pages / "other.json").write_text(json.dumps({"study": "other", "claims": [other]}))
    (pages / "tiny.json").write_text("{}")
    (pages / "README.md").write_text("# Studies\n\n<!-- counts -->\nold\n<!-- /counts -->\n\nMore.\n")
    assert aqmlab("study", "tiny", "--quick", "--pages", str(pages)).code == 0
    lines = (pages / "README.md").read_text().splitlines()
    assert "| [other](other.md) | 1 | 1 | 0 | 0 | 1 | 0 | 1 | 0 | 0 | 1 of 2 |" in lines
    assert "| [tiny](tiny.md) | 2 | 1 | 1 | 0 | 3 | 2 | 0 | 0 | 1 | 3 of 3 |" in lines
    assert "| all | 3 | 2 | 1 | 0 | 4 | 2 | 1 | 0 | 1 | 4 of 5 |" in lines
    assert "old" not in lines
    assert lines[-1] == "More."


def test_the_pages_can_be_written_from_the_record(aqmlab: Command, tmp_path: Path) -> None:
    assert aqmlab("study", "tiny", "--quick").code == 0
    pages = tmp_path / "results/studies"
    texts = {name: (pages / name).read_text() for name in ("tiny.md", "tiny-details.md")}
    for name in texts:
        (pages / name).unlink()
    write_texts(read_record(pages / "tiny.json"), pages)
    assert {name: (pages / name).read_text() for name in texts} == texts


def test_a_record_without_a_claim_of_the_study_is_refused(aqmlab: Command, tmp_path: Path) -> None:
    assert aqmlab("study", "tiny", "--quick").code == 0
    file = tmp_path / "results/studies/tiny.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "claims": record["claims"][1:]}))
    with pytest.raises(SpecError, match=r"tiny\.json: lacks the claims tiny-1; `aqmlab study tiny` writes it$"):
        read_record(file)


def test_a_study_without_registered_claims_says_so() -> None:
    assert registration("aqmlab.studies.kit") == Registration()
    assert "registered" not in index.readings(Registration())
    assert "decides the same predicates" in index.readings(replace(Tiny().registration(), in_dictionary=True))


def test_a_number_that_is_not_finite_is_an_empty_cell(tmp_path: Path) -> None:
    table = Table(name="t", title="T", columns=("a", "b"), rows=[[math.nan, math.inf]])
    assert markdown(table).splitlines()[-1] == "|  |  |"
    report = Report(
        study=Tiny(),
        length=Tiny.lengths["quick"],
        decisions=[],
        tables=[table],
        figures=[],
    )
    write_record(report, tmp_path / "tiny.json")
    assert json.loads((tmp_path / "tiny.json").read_text())["tables"][0]["rows"] == [[None, None]]


def test_progress_names_each_part_after_the_experiments(aqmlab: Command) -> None:
    told = [line for line in aqmlab("study", "tiny", "--quick", "-v").err.splitlines() if line.startswith("report: ")]
    parts = ["claims", "tables", "figures", "figure carried", "figure carried-too"]
    assert told == [f"report: {part}" for part in parts]


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
    page = (tmp_path / "results/studies/tiny.md").read_text()
    assert "Made by `aqmlab study tiny --quick --seeds 4-5`: 1 s of warm-up and 1 s measured, seeds 4 to 5" in page
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


def test_the_uncongested_network_has_the_users_of_the_load() -> None:
    class Calm(Tiny):
        def runs(self, length: Length) -> Sequence[Run]:
            loaded = Experiment(users={"load": 50}, protocol=length.protocol)
            return [Run(name="calm", experiment=loaded, label="uncongested", uncongested=True, seeds=1)]

    ((cell,),) = study_cells(Calm(), Tiny.lengths["default"], load_calibrations()).values()
    (loaded,) = cells_of(Experiment(users={"load": 50}), [1], load_calibrations())
    assert cell.users_per_side == loaded.users_per_side
    assert (cell.load_percent, cell.signal) == (50, "none")
    assert cell.resolved["link"]["rate"] == presets.UNCONGESTED.rate


def test_numbers_are_shown_as_a_person_reads_them() -> None:
    values = (None, 1234567, 1234.56, 0.0123456, 98.04, "pi")
    assert [text(value) for value in values] == ["", "1,234,567", "1,235", "0.01235", "98.04", "pi"]
    table = Table(name="t", title="T", columns=("a|b", "c"), rows=[["x", 1], ["y", None]])
    assert markdown(table) == "| a\\|b | c |\n|---|---:|\n| x | 1 |\n| y |  |"
