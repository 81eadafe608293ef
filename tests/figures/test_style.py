"""The style of papers: sizes, fonts, colours that are the same everywhere, and names at the ends of lines."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import aqmlab as lab
from aqmlab.ui.canvas import PALETTE, LineStyles


def rising(slope: float) -> pl.DataFrame:
    return pl.DataFrame({"x": [60.0, 80.0, 98.0], "y": [slope, 2 * slope, 3 * slope]})


def names_at_ends(figure: Figure) -> dict[str, Annotation]:
    return {note.get_text(): note for note in figure.axes[0].texts if isinstance(note, Annotation)}


@pytest.mark.parametrize(("columns", "points"), [(1, 252), (2, 515.52)])
def test_a_pdf_has_the_width_and_fonts_that_journals_take(columns: int, points: float, tmp_path: Path) -> None:
    with lab.style.columns(columns):
        figure = Figure()
        lab.plot.xy({"codel": rising(1)}, figure.subplots())
        figure.savefig(tmp_path / "figure.pdf")
    content = (tmp_path / "figure.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", content)
    assert box is not None
    assert float(box[1]) == pytest.approx(points, abs=0.01)
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_text_in_a_column_has_at_least_seven_points() -> None:
    with lab.style.columns(1):
        axis = lab.plot.xy({"codel": rising(1)}, Figure().subplots())
        axis.set(xlabel="load, %", ylabel="loss, %")
        sizes = {text.get_fontsize() for text in (axis.xaxis.label, *axis.get_xticklabels(), *axis.texts)}
    assert min(sizes) == 7


def test_the_style_ends_with_its_context() -> None:
    before, width = dict(mpl.rcParams), LineStyles("")
    width.share_styles(["codel"])
    thick = width["codel"]["linewidth"]
    with lab.style.columns(1):
        assert width["codel"]["linewidth"] < 0.6 * thick
    assert dict(mpl.rcParams) == before
    assert width["codel"]["linewidth"] == thick


def test_names_stand_at_the_ends_of_lines_with_room_between() -> None:
    with lab.style.columns(1):
        figure = Figure()
        lab.plot.xy({"droptail": rising(9), "codel": rising(5), "pie": rising(1)}, figure.subplots())
        figure.draw_without_rendering()
    notes = names_at_ends(figure)
    assert set(notes) == {"droptail", "codel", "pie"}
    assert figure.axes[0].get_legend() is None
    for line in figure.axes[0].get_lines():
        note = notes[str(line.get_label())]
        assert note.get_color() == line.get_color()
        box = note.get_window_extent()
        _, y = figure.axes[0].transData.transform(line.get_xydata()[-1])  # type: ignore[index]
        assert box.y0 < y < box.y1
        assert box.x1 <= figure.bbox.x1, "the name is within the figure"
    heights = sorted((note.get_window_extent().y0, note.get_window_extent().y1) for note in notes.values())
    assert all(one[1] < other[0] for one, other in itertools.pairwise(heights))


def test_lines_that_end_together_have_a_legend() -> None:
    with lab.style.columns(1):
        figure = Figure()
        lab.plot.xy({"droptail": rising(1.0), "codel": rising(1.01)}, figure.subplots())
    assert not names_at_ends(figure)
    assert figure.axes[0].get_legend() is not None


def test_numbers_of_logarithmic_axes_are_written_out() -> None:
    times = np.geomspace(10, 1e5, 100)
    tail = pl.DataFrame({"time_ms": times, "fraction": 1 - 10 / times})
    with lab.style.columns(1):
        axis = lab.plot.ccdf({"codel": tail}, Figure().subplots())
        labels = {label.get_text() for label in axis.get_xticklabels()}
    assert {"100", "1,000", "10,000"} <= labels


@pytest.mark.parametrize("others", [[], ["pie"], ["pi:q_ref=24", "rem"], ["droptail:limit=240", "fq_codel", "sfq"]])
def test_a_discipline_has_its_colour_beside_any_others(others: list[str]) -> None:
    for labels in (["codel:target=5ms", *others], [*others, "codel:target=5ms"]):
        styles = LineStyles("uncongested")
        styles.share_styles(labels)
        assert styles["codel:target=5ms"]["color"] == PALETTE[0]
        assert len({styles[label]["color"] for label in labels}) == len(labels)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    channels = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(np.dot(channels, (0.2126, 0.7152, 0.0722)))


def test_lines_differ_in_grey_by_luminance_or_dashes() -> None:
    labels = [f"scheme {number}" for number in range(6)]
    styles = LineStyles("uncongested")
    styles.share_styles(labels)
    for one, other in itertools.combinations(labels, 2):
        low, high = sorted(luminance(styles[label]["color"]) for label in (one, other))
        is_lighter = (high + 0.05) / (low + 0.05) > 1.5
        assert is_lighter or styles[one]["linestyle"] != styles[other]["linestyle"]
    assert all(1.05 / (luminance(colour) + 0.05) > 2.2 for colour in PALETTE), "each is seen on white"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": 3}, "columns: must be 1 or 2, got 3"),
        ({"height": 0}, "height: must be above 0 inches, got 0"),
        ({"height": float("nan")}, "height: must be above 0 inches, got nan"),
    ],
)
def test_another_size_is_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(lab.SpecError, match=f"^{message}$"):
        lab.style.parameters(**arguments)
