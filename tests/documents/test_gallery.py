"""The gallery: each figure's code runs as it stands, and the stored picture shows what the code draws."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import gallery
import moving_picture

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
FIGURES = [figure for page in gallery.pages(FOLDER) for figure in gallery.figures(page)]
LAST_FIGURES = [figure for page in gallery.TUTORIALS for figure in gallery.figures(page)]
TEXT = "{http://www.w3.org/2000/svg}text"


def texts(svg: str) -> list[str]:
    """Return the words and numbers of a picture: titles, labels, ticks."""
    return ["".join(text.itertext()).strip() for text in ElementTree.fromstring(svg).iter(TEXT)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all figures share, as for a reader: cells of one are not run again for the next."""
    made = tmp_path_factory.mktemp("gallery")
    gallery.prepare(made)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES + LAST_FIGURES, ids=lambda figure: Path(figure.picture).stem)
def test_the_stored_picture_is_of_the_code(figure: gallery.Figure, directory: Path) -> None:
    drawn = figure.draw(directory).read_text(encoding="utf-8")
    stored = figure.file.read_text(encoding="utf-8")
    assert texts(stored) == texts(gallery.stable(drawn)), f"make gallery has to draw {figure.picture} again"


def test_the_moving_picture_is_what_the_engine_gives() -> None:
    stored = (FOLDER.parent / "img" / "two-queues.svg").read_text(encoding="utf-8")
    assert stored == moving_picture.picture(moving_picture.lanes()), "make gallery has to draw it again"


def test_there_are_thirty_figures_with_pictures_of_their_own() -> None:
    assert len(FIGURES) == 30
    pictures = sorted(figure.picture for figure in FIGURES)
    assert pictures == sorted(file.name for file in (FOLDER / "img").iterdir())
    assert len(set(pictures)) == 30


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: Path(figure.picture).stem)
def test_a_figure_is_short_light_and_explained(figure: gallery.Figure) -> None:
    assert len(figure.lines) <= gallery.MAX_LINES
    assert max(map(len, figure.lines)) <= 120
    assert (FOLDER / "img" / figure.picture).stat().st_size <= gallery.MAX_BYTES
    assert figure.lesson.endswith(".")
    section = figure.page.read_text(encoding="utf-8").partition(f"## {figure.title}\n")[2].partition("\n## ")[0]
    assert re.search(r"\nReference: \[.*\]\(\.\./reference/.*\)", section)


def test_a_tutorial_ends_in_its_figure() -> None:
    assert [figure.page for figure in LAST_FIGURES] == list(gallery.TUTORIALS)
    for figure in LAST_FIGURES:
        last = figure.page.read_text(encoding="utf-8").rpartition("\n## ")[2]
        assert last.startswith(f"{figure.title}\n")
        assert len(figure.lines) <= gallery.MAX_LINES
        assert figure.file.stat().st_size <= gallery.MAX_BYTES


def test_every_section_is_a_figure_and_the_list_has_it() -> None:
    headings = [
        line.removeprefix("## ")
        for page in gallery.pages(FOLDER)
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert headings == [figure.title for figure in FIGURES]
    assert gallery.with_lists(FOLDER) == (FOLDER / "README.md").read_text(encoding="utf-8"), "run make gallery"


def test_every_function_for_figures_has_a_figure() -> None:
    from aqmlab import plot

    code = "\n".join(figure.code for figure in FIGURES)
    assert [name for name in plot.__all__ if f"lab.plot.{name}(" not in code] == []
