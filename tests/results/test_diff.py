"""``aqmlab diff``: values of specs and measures that differ between cells, stores and results numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import aqmlab as lab
from aqmlab import stats
from aqmlab.results.numbers.diff import diff
from aqmlab.store.store import Store
from conftest import Command

SPEC: dict[str, Any] = {
    "link": {"rate": "2 Mbit/s"},
    "users": {"per_side": 8},
    "protocol": {"warmup": "1 s", "duration": "4 s"},
}
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two stores: the same but for the rate of the link of codel, and a cell that only the first has."""
    folder = tmp_path_factory.mktemp("diff")
    for name, rate in (("one", "2 Mbit/s"), ("other", "3 Mbit/s")):
        run(folder / name, "codel", link={"rate": rate})
        run(folder / name, "pie")
    run(folder / "one", "pie", seeds=[4])
    return folder / "one", folder / "other"


def run(out: Path, scheme: str, seeds: Any = SEEDS, **tables: Any) -> list[lab.Result]:
    return [lab.run(lab.Experiment(**{**SPEC, "queue": {scheme: {}}, **tables}), seed=seed, out=out) for seed in seeds]


def test_two_stores_differ_in_values_and_paired_measures(stores: tuple[Path, Path], aqmlab: Command) -> None:
    record = json.loads(aqmlab("diff", *map(str, stores), "--json").out)
    assert record["values"] == [{"scheme": "codel", "value": "link.rate", "a": "2 Mbit/s", "b": "3 Mbit/s"}]
    assert {row["scheme"] for row in record["measures"]} == {"codel"}
    (p95,) = [row for row in record["measures"] if row["measure"] == "p95"]
    first, second = (
        run(out, "codel", link={"rate": rate}) for out, rate in zip(stores, ("2 Mbit/s", "3 Mbit/s"), strict=True)
    )
    values = [np.array([result.measure("p95") for result in side], dtype=float) for side in (first, second)]
    expected = stats.Difference.between(values[1], values[0])
    assert (p95["difference"], p95["low"], p95["high"], p95["n"]) == pytest.approx(
        (expected.mean, expected.low, expected.high, 3)
    )
    assert p95["b"] - p95["a"] == pytest.approx(p95["difference"])
    assert record["pairs"] == 6
    assert [Store(stores[0]).get_by_key(key).cell.seed for key in record["only_a"]] == [4]  # type: ignore[union-attr]
    assert record["only_b"] == []


def test_two_cells_are_compared_whatever_their_seeds(stores: tuple[Path, Path], aqmlab: Command) -> None:
    cells = Store(stores[0]).cells()
    first, second = cells.filter(label="codel", seed=1)["cell"][0], cells.filter(label="pie", seed=2)["path"][0]
    outcome = aqmlab("diff", first[:10], str(second), "--out", str(stores[0]))
    assert outcome.code == 0, outcome.err
    assert "codel → pie" in outcome.out
    assert "seed" in outcome.out
    assert "p95" in outcome.out


def test_conditions_choose_both_sides(stores: tuple[Path, Path], aqmlab: Command, tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    outcome = aqmlab("diff", "scheme=codel", "scheme=pie", "--out", str(stores[1]), "--table", str(file), "--json")
    assert outcome.code == 0, outcome.err
    rows = pl.read_csv(file)
    assert rows.columns == ["scheme", "measure", "unit", "a", "b", "difference", "low", "high", "n"]
    assert set(rows["scheme"]) == {"codel → pie"}


def test_equal_stores_are_one_line(stores: tuple[Path, Path], aqmlab: Command, tmp_path: Path) -> None:
    shutil.copytree(stores[1], tmp_path / "copy")
    outcome = aqmlab("diff", str(stores[1]), str(tmp_path / "copy"))
    assert outcome.out == "Nothing differs in 6 pairs of cells: neither a value of the spec nor a measure.\n"


def test_a_number_that_one_side_lacks_is_a_difference(tmp_path: Path) -> None:
    first = run(tmp_path, "codel", [1])
    second = run(tmp_path, "codel", [1], sources=[{"bulk": {"flows": 1, "name": "up"}}])
    rows = diff(first, second).measures.filter(measure="up goodput")
    assert rows.select("a", "difference").row(0) == (None, None)
    assert rows["b"][0] > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ffffffffffffffff", "no cell ffffffffffffffff"),
        ("scheme=red", "no cell scheme=red"),
        ("nosuch=1", "no column 'nosuch'"),
        ("", "got an empty text"),
    ],
)
def test_a_wrong_side_is_one_line(text: str, message: str, stores: tuple[Path, Path], aqmlab: Command) -> None:
    outcome = aqmlab("diff", text, "scheme=pie", "--out", str(stores[0]))
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err
