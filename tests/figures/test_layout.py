from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.table import Table
from rich.text import Text

from aqmlab.design import pi
from aqmlab.design import table as design_table
from aqmlab.disciplines import catalogue
from aqmlab.disciplines import table as discipline_table
from aqmlab.studies.kit import table as study_table
from aqmlab.studies.kit.study import Table as Numbers
from aqmlab.ui import console


def table_of(names: list[str], headings: list[str], *, collapse_padding: bool = True) -> Table:
    """Return a table with a row for each name, in which each number occurs once."""
    sheet = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=collapse_padding)
    sheet.add_column("scheme", no_wrap=True)
    for heading in headings:
        sheet.add_column(heading, justify="right", no_wrap=True)
    for n, name in enumerate(names):
        sheet.add_row(name, *(f"{1000 * n + m}.5" for m in range(len(headings))))
    return sheet


NAMES = st.lists(
    st.from_regex(r"\A[a-z_]{1,12}(:[a-z]{1,9}=\d{1,5}(,[a-z]{1,9}=\d{1,5}){0,4})?\Z"), min_size=1, max_size=4
)


@given(NAMES, st.integers(1, 30), st.sampled_from([60, 80, 100, 300]), st.booleans())
def test_a_table_fits_and_no_number_is_broken_or_lost(
    names: list[str], columns: int, width: int, collapse_padding: bool
) -> None:
    headings = [f"column\n{n}" for n in range(columns)]
    text = console.render_text(table_of(names, headings, collapse_padding=collapse_padding), width=width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    numbers = sorted(float(word) for word in re.findall(r"(?<!\S)\d+\.5(?!\S)", text))
    assert numbers == sorted(1000 * n + m + 0.5 for n in range(len(names)) for m in range(columns))


def test_a_further_piece_names_the_rows_and_the_group_again() -> None:
    text = console.render_text(
        table_of(["droptail"], ["response\np10", *(f"\np{n}" for n in range(20, 90, 5))]), width=60
    )
    assert text.count("droptail") == text.count("response") == text.count("scheme") > 1


def test_a_long_name_goes_on_after_a_comma() -> None:
    name = "red:min_th=12,max_th=36,w_q=1/8192,gentle=true,limit=1000"
    text = console.render_text(table_of([name], ["loss", "queue"]), width=60)
    pieces = [line.split()[0] for line in text.splitlines() if "=" in line]
    assert "".join(pieces) == name
    assert all(piece.endswith(",") for piece in pieces[:-1])


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\s─]+", text))


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", [None, "pi", "dualpi2", "fq_pie", "ared"])
def test_texts_are_wrapped_between_words(width: int, name: str | None) -> None:
    known = catalogue.disciplines()
    sheet = discipline_table.disciplines(known.values()) if name is None else discipline_table.parameters(known[name])
    output = console.render_text(sheet, width=width)
    assert all(len(line) <= width for line in output.splitlines())
    assert words(output) == words(console.render_text(sheet, width=1000))


@pytest.mark.parametrize("width", [80, 100])
def test_designs_and_tables_of_studies_fit(width: int) -> None:
    design = design_table.design(pi(packets_per_sec=23234, flows=400, rtt_max_s=0.2))
    columns = ("scheme", *(f"loss at {load} % load, ours" for load in range(80, 120, 2)))
    study = study_table.numbers(
        Numbers(name="n", title="Losses", columns=columns, rows=[("pi", *(1.25 * n for n in range(20)))])
    )
    for sheet in (design, study):
        text = console.render_text(sheet, width=width)
        assert all(len(line) <= width for line in text.splitlines())
        assert words(text) == words(console.render_text(sheet, width=1000))


def test_a_bracket_a_colon_and_an_emoji_s_name_are_text() -> None:
    sheet = table_of(["law:name=[/red]", "law:x=:heart:"], ["[bold]loss"])
    sheet.title = "[link]"
    sheet.add_row(Text("[b]"), "1")
    output = console.render_text(sheet, width=80)
    for text in ("law:name=[/red]", "law:x=:heart:", "[bold]loss", "[link]", "[b]"):
        assert text in output
