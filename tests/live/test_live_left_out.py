"""Invalid live runs are in no mean, wherever cells are compared."""

from __future__ import annotations

import shutil
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.console import queries
from aqmlab.console.auth import Rejected
from aqmlab.reports import narrative
from fixtures.console import Visitor
from fixtures.metadata import LATE, reseal


@pytest.fixture
def doctored(console_store: Path, tmp_path: Path) -> Path:
    """A store whose second seed of ``codel`` says of itself that its machine was late."""
    folder = tmp_path / "store"
    shutil.copytree(console_store, folder)
    (late,) = lab.Store(folder).cells().filter(pl.col("label") == "codel", pl.col("seed") == 2)["path"]
    reseal(Path(late), live=LATE)
    return folder


def keys(folder: Path, *, valid: bool | None = None) -> list[str]:
    """Return the cells of two schemes, or of them those that are valid or not."""
    cells = lab.Store(folder).cells().filter(pl.col("scheme").is_in(["droptail", "codel"]))
    return [
        key
        for key, is_valid in cells.select("cell", "valid").rows()
        if valid is None or (is_valid is not False) == valid
    ]


def test_the_console_leaves_them_out_and_says_so(doctored: Path) -> None:
    store = lab.Store(doctored)
    compared = queries.comparison(store, tuple(keys(doctored)))
    (panel,) = compared.panels.panels
    assert [(scheme["label"], scheme["seeds"]) for scheme in panel.selection.schemes] == [
        ("droptail:limit=20", [1, 2]),
        ("codel", [1]),
    ]
    sentence = next(note for note in narrative.notes(panel.selection) if "invalid" in note)
    assert sentence.endswith("seed 2 is invalid and left out: the router was late.")
    with pytest.raises(Rejected, match=r"seed 2 is invalid and left out: the router was late\.$"):
        queries.comparison(store, tuple(keys(doctored, valid=False)))
    with fixtures.console.console(doctored) as address:
        visitor = Visitor(address)
        visitor.go_in()
        status, page, _ = visitor.ask("/compare?" + urlencode([("cell", key) for key in keys(doctored)]))
    assert status == 200
    assert sentence in unescape(page)


def test_a_comparison_takes_none(doctored: Path) -> None:
    results = queries.results(lab.Store(doctored), keys(doctored))
    with pytest.raises(lab.SpecError, match=r"^results: an invalid live run is in no mean, got .*seed 2"):
        lab.Comparison(tuple(results))
    assert lab.Comparison(tuple(result for result in results if result.valid)).schemes
