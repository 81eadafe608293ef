"""Numbers and lists in hand-written texts equal those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.studies import STUDIES
from aqmlab.studies.kit import index
from aqmlab.studies.kit.page import write_texts
from aqmlab.studies.kit.report import read_record
from conftest import Command

ROOT = Path(__file__).parents[2]

RECORDED = tuple(index.recorded_claims(ROOT / "docs" / "studies"))
"""The studies with a record: all but those that are only planned."""


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {lab.__version__}\n" in citation


def test_the_claims_counted_are_those_of_the_pages() -> None:
    folder = ROOT / "docs" / "studies"
    claims = index.recorded_claims(folder)
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert f"{index.BEGIN}\n{index.counts(claims)}\n{index.END}" in text
    assert claims.keys() <= set(STUDIES)
    for name in set(STUDIES) - claims.keys():
        assert (folder / f"{name}-plan.md").is_file(), "only a study that is planned has no record"


@pytest.mark.parametrize("name", RECORDED)
def test_the_page_of_a_study_follows_from_its_record(name: str, tmp_path: Path) -> None:
    folder = ROOT / "docs" / "studies"
    (tmp_path / f"{name}-notes.md").symlink_to(folder / f"{name}-notes.md")
    write_texts(read_record(folder / f"{name}.json"), tmp_path)
    page = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert page == (tmp_path / f"{name}.md").read_text(encoding="utf-8"), "run tools/study_pages.py docs/studies"


def test_a_studys_page_has_four_screens_at_most() -> None:
    # A screen has some 50 lines, or two figures.
    for name in RECORDED:
        page = (ROOT / "docs" / "studies" / f"{name}.md").read_text(encoding="utf-8")
        text = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
        assert len(text.splitlines()) + 25 * text.count("![") <= 200, name
        assert f"({name}-details.md)" in page
        assert re.search(rf"`aqmlab study {name}\b.*commit [0-9a-f]{{7,}}", page), name


def test_kwon_and_fahmys_costs_equal_the_measured_ones() -> None:
    cost = (ROOT / "docs" / "reference" / "aqm" / "cost.md").read_text(encoding="utf-8")
    measured = {
        name: (int(instructions), flow)
        for name, instructions, flow in re.findall(
            r"^\| \[(\w+)\].*?\| (\d+) \|(?:[^|]*\|){3} ([\d,]+ B) \|", cost, re.MULTILINE
        )
    }
    notes = (ROOT / "docs" / "studies" / "kwon2003-notes.md").read_text(encoding="utf-8")
    matches = re.findall(r"^\| ([A-Z]+) \| [^|]* \| (\d+) \| ([\d,]+ B) \|$", notes, re.MULTILINE)
    assert len(matches) == 6
    for name, extra, flow in matches:
        instructions, measured_flow = measured[name.lower()]
        assert int(extra) == pytest.approx(instructions - measured["droptail"][0], rel=0.1), name
        assert flow == measured_flow


@pytest.mark.parametrize("command", ["compare", "calibrate"])
def test_the_help_names_every_table_of_round_trip_times(aqmlab: Command, command: str) -> None:
    # A name is wrapped after its hyphen.
    words = re.sub(r"-\n\s+", "-", aqmlab(command, "--help").out.replace("│", " ")).split()
    for name in json.loads(_core.shipped())["rtt"]:
        assert any(word.strip(",.()") == name for word in words), name


def test_the_documentation_of_the_spec_names_what_ships() -> None:
    page = (ROOT / "docs" / "reference" / "spec.md").read_text(encoding="utf-8")
    shipped = json.loads(_core.shipped())
    for name in (*shipped["rtt"], *shipped["workload"], *json.loads(_core.profiles())):
        assert f'`"{name}"`' in page, name
