"""The overview of many cells: its means against plain Python, and its page."""

from __future__ import annotations

import random
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest

from aqmlab.console.auth import Rejected
from aqmlab.console.overview import overview
from aqmlab.stats.intervals import mean_interval
from aqmlab.store import rows
from fixtures.console import Visitor

NUMBER = "response_time_ms_p99"
SCHEMES = ("codel", "pi", "fq_codel")


def made_up(experiments: int, seeds: int) -> pl.DataFrame:
    draw = random.Random(3)
    records: list[dict[str, Any]] = [
        {
            "cell": f"{index:016x}",
            "label": label,
            "signal": "drop",
            "experiment": f"e{experiment}",
            "world": "simulated",
            "seed": seed,
            "rate_mbps": float(experiment),
            NUMBER: draw.uniform(100, 900),
            "throughput_mbps": draw.uniform(1, 9),
        }
        for index, (experiment, label, seed) in enumerate(
            (experiment, label, seed) for experiment in range(experiments) for label in SCHEMES for seed in range(seeds)
        )
    ]
    frame = pl.DataFrame(records, schema_overrides=rows.SCHEMA, infer_schema_length=None)
    return frame.with_columns(
        pl.lit(None, kind).alias(name) for name, kind in rows.SCHEMA.items() if name not in frame.columns
    )


def values(cells: pl.DataFrame, number: str) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for row in cells.to_dicts():
        found.setdefault((row["experiment"], row["label"]), []).append(row[number])
    return found


@pytest.mark.parametrize(("number", "best_of"), [(NUMBER, min), ("throughput_mbps", max)])
def test_means_and_wins_are_those_of_plain_python(number: str, best_of: Any) -> None:
    cells = made_up(12, 4)
    found = overview(cells, number, 1)
    expected = {key: mean_interval(np.array(numbers)) for key, numbers in values(cells, number).items()}
    for row in found.variants:
        mean, low, _ = expected[row.experiment, row.label]
        assert list(row.numbers[number]) == pytest.approx([mean, mean - low])
    means = {key: mean for key, (mean, _, _) in expected.items()}
    best = {f"e{number}": best_of(means[f"e{number}", label] for label in SCHEMES) for number in range(12)}
    for scheme in found.schemes:
        ratios = [means[experiment, scheme.label] / best[experiment] for experiment in best]
        assert scheme.best == ratios.count(1.0)
        assert scheme.ratio == pytest.approx(median(ratios))
    assert sum(scheme.best for scheme in found.schemes) == 12
    order = [row.numbers[number][0] or 0.0 for row in found.variants]
    assert order == sorted(order, reverse=best_of is min), "the worst first"


def test_what_is_no_scheme_or_invalid_is_left_out_and_counted() -> None:
    cells = made_up(2, 2)
    valid = pl.Series([False] + [None] * (cells.height - 1), dtype=pl.Boolean)
    label = pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("uncongested")).otherwise("label")
    found = overview(cells.with_columns(valid=valid, label=label), NUMBER, 1)
    assert (found.cells, found.invalid) == (cells.height - 2, 1)
    assert "uncongested" not in {row.label for row in found.schemes}
    for number, frame in (("seed", cells), (NUMBER, cells.clear())):
        with pytest.raises(Rejected):
            overview(frame, number, 1)


def test_a_scheme_that_is_compared_with_none_comes_last() -> None:
    alone = made_up(1, 1).head(1).with_columns(experiment=pl.lit("other"), label=pl.lit("alone"))
    found = overview(pl.concat([alone, made_up(3, 2)]), NUMBER, 1)
    assert [row.label for row in found.schemes][-1] == "alone"


def test_one_page_of_thousands_of_cells_is_shown_at_a_time() -> None:
    found = overview(made_up(500, 5), NUMBER, 99)
    assert (found.cells, found.experiments, found.page, found.pages) == (7_500, 500, 15, 15)
    assert len(found.variants) == 100
    assert [row.cells for row in found.schemes] == [2_500] * 3


def test_the_overview_has_the_filter_of_the_runs(visitor: Visitor) -> None:
    assert 'href="/overview?words=codel"' in visitor.ask("/?words=codel")[1]
    status, page, _ = visitor.ask("/overview?words=codel&number=loss_percent")
    assert status == 200
    assert "2 cells of 1 experiment that match" in page
    assert '<th scope="row">codel</th>' in page
    assert "droptail" not in page
    assert "<script>alert" not in visitor.ask("/overview")[1]
    assert visitor.ask("/overview?number=seed")[0] == 400
    assert visitor.ask("/overview?words=p99%3Ex")[0] == 400
