from __future__ import annotations

import re
from pathlib import Path

import pytest

from aqmlab.disciplines.catalogue import Discipline, Parameter, disciplines
from reference import disciplines as written

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "aqm"

RUN = "the page is not what the code says: run make reference"


@pytest.mark.parametrize("entry", disciplines().values(), ids=lambda entry: entry.name)
def test_a_committed_page_is_what_the_code_says(entry: Discipline) -> None:
    assert (PAGES / f"{entry.name}.md").read_text(encoding="utf-8") == written.page(entry), RUN


def test_the_committed_index_is_what_the_code_says() -> None:
    assert (PAGES / "README.md").read_text(encoding="utf-8") == written.index(disciplines().values()), RUN


def test_there_are_pages_of_what_there_is_and_no_others() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {"README", "cost", *disciplines()}


def test_every_figure_is_there_small_and_shown() -> None:
    shown = set()
    for page in PAGES.glob("*.md"):
        shown |= set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")))
    assert shown == {f"img/{figure.name}" for figure in (PAGES / "img").iterdir()}
    for figure in shown:
        assert (PAGES / figure).stat().st_size < 100_000


def test_the_page_of_costs_has_a_row_for_every_discipline() -> None:
    rows = re.findall(r"^\| \[([^]]+)\]", (PAGES / "cost.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(disciplines()), "run make cost"


def test_the_index_has_each_family_once_with_its_disciplines() -> None:
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in written.index(disciplines().values()).splitlines()
        if line.startswith("| ")
    ][2:]
    families = [family for family, *_ in rows if family]
    assert len(families) == len(set(families)) == len({entry.family for entry in disciplines().values()})
    family = ""
    for name, link, decides_at, summary in rows:
        family = name or family
        entry = disciplines()[link[1:].partition("]")[0]]
        assert (entry.family, entry.decides_at, entry.summary) == (family, decides_at, summary)


def test_a_page_is_complete_and_escapes_bars_in_tables() -> None:
    odd = Parameter(name="x", unit="a|b", default="1", meaning="either | or", source="ours")
    red = disciplines()["red"]
    entry = Discipline(
        name="red",
        family="a family",
        decides_at="enqueue",
        summary="Does something",
        parameters=(odd,),
        page="# A title\n\n## Idea\n\nAn idea.\n",
    )
    lines = written.page(entry).splitlines()
    assert "# A title" in lines
    assert "Does something." in lines
    assert "[Its page](../../../crates/aqm/pages/red.md): Idea." in lines
    assert "| `x` | a\\|b | 1 | either \\| or | ours |" in lines
    assert all(line.startswith("## ") for line in lines if line.startswith("##"))
    for parameter in red.parameters:
        assert f"| `{parameter.name}` | {parameter.unit} | {parameter.default} |" in written.page(red)


def test_reds_drop_curve_is_that_of_its_paper() -> None:
    curve = written.drop_curve(disciplines()["red"])
    min_th, max_th, max_p = 5.0, 15.0, 0.1
    for avg, p_b in curve.iter_rows():
        if avg < min_th:
            expected = 0.0
        elif avg < max_th:
            expected = max_p * (avg - min_th) / (max_th - min_th)
        else:
            expected = min(1.0, max_p + (1 - max_p) * (avg - max_th) / max_th)
        assert p_b == pytest.approx(expected, abs=1e-9)
    assert curve["avg"].max() > 2 * max_th  # type: ignore[operator]
    assert curve["p_b"].max() == 1


def test_only_laws_with_average_and_probability_have_a_curve() -> None:
    with_curve = {name for name, entry in disciplines().items() if written.has_curve(entry)}
    assert {"red", "ared"} <= with_curve
    assert not with_curve & {"droptail", "pi", "rem"}
