"""What texts written by hand say of what there is, is what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.studies import STUDIES
from conftest import Command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_disciplines_that_there_are() -> None:
    (row,) = re.findall(r"^\| queue disciplines \| .* validated: (.*?)\. Every", README, re.MULTILINE)
    pages = (entry.page.partition("\n")[0] for entry in disciplines().values())
    titles = {page.removeprefix("# ").partition(",")[0].lower() for page in pages}
    named = set(re.split("[;,] ", row.lower()))
    assert named <= titles
    assert len(named) > 20


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {lab.__version__}\n" in citation


def test_the_claims_counted_are_those_of_the_pages() -> None:
    index = (ROOT / "docs" / "studies" / "README.md").read_text(encoding="utf-8")
    totals = [0, 0, 0, 0]
    for name in STUDIES:
        page = (ROOT / "docs" / "studies" / f"{name}.md").read_text(encoding="utf-8")
        (said,) = re.findall(r"^(\d+) claims: (\d+) holds?, (\d+) fails?, (\d+) undecided", page, re.MULTILINE)
        counts = list(map(int, said))
        (row,) = re.findall(rf"^\| \[{name}\].*$", index, re.MULTILINE)
        assert row.endswith(f" | {' | '.join(map(str, counts))} |")
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    assert f"| all | | | {' | '.join(map(str, totals))} |" in index
    claims, hold, fail, undecided = totals
    sentence = f"Of {claims} claims of four papers and an RFC, {hold} hold here, {fail} fail and {undecided} are"
    assert sentence in " ".join(README.split())


@pytest.mark.parametrize("command", ["compare", "calibrate"])
def test_the_help_names_every_table_of_round_trip_times(aqmlab: Command, command: str) -> None:
    words = aqmlab(command, "--help").out.replace("│", " ").split()
    for name in json.loads(_core.shipped())["rtt"]:
        assert any(word.strip(",.()") == name for word in words), name


def test_the_documentation_of_the_spec_names_what_ships() -> None:
    schema = lab.Experiment.model_json_schema()["$defs"]
    rtts, profiles = json.loads(_core.shipped())["rtt"], json.loads(_core.profiles())
    assert all(f"``{name}``" in schema["Users"]["properties"]["rtt"]["description"] for name in rtts)
    assert all(f"``{name}``" in schema["Tcp"]["properties"]["profile"]["description"] for name in profiles)
