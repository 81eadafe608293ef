"""Rankings of schemes, and the experiments of a comparison along their axis."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import vl_convert

import aqmlab as lab
from aqmlab.console import queries
from aqmlab.reports import ranking
from aqmlab.reports.panels import Panels, panels
from aqmlab.reports.selection import Selection
from aqmlab.results import best, grouping
from aqmlab.store.result import Result
from aqmlab.store.store import Store

SCHEMES = ("droptail:limit=40", "codel", "pie")
LOADS = (60, 90)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Three schemes under two loads, three seeds each."""
    out = tmp_path_factory.mktemp("store")
    for users in LOADS:
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s"}, users={"per_side": users}, protocol={"warmup": "2 s", "duration": "10 s"}
        )
        lab.compare(*SCHEMES, experiment=experiment, seeds=[1, 2, 3], out=out)
    store = Store(out)
    return sorted(map(partial(queries.result, store), store.keys()), key=grouping.started_at_s)


@pytest.fixture(scope="module")
def found(results: list[Result]) -> Panels:
    return panels(results)


def test_experiments_stand_in_the_order_of_their_axis(found: Panels) -> None:
    assert found.axes == ("load, %",)
    users = [{result.cell.users_per_side for result in panel.selection.valid} for panel in found.panels]
    assert users == [{count} for count in LOADS]
    values = [panel.values[0] for panel in found.panels]
    assert values == sorted(values)
    assert found.panels[0].title == f"load {values[0]:g} %"


def test_one_experiment_has_no_axis(results: list[Result]) -> None:
    one = panels([result for result in results if result.cell.users_per_side == LOADS[0]])
    assert (len(one.panels), one.axes, one.panels[0].title) == (1, (), "")
    assert "difference" in {chart.name for chart in one.charts()[0]}


def test_numbers_over_the_axis_are_the_means_of_the_cells(found: Panels, results: list[Result]) -> None:
    (chart, *multiples), vega = found.charts()
    assert [multiple.title for multiple in multiples] == [f"Response times, {panel.title}" for panel in found.panels]
    assert len({multiple.name for multiple in multiples}) == len(LOADS)
    for panel, users in zip(found.panels, LOADS, strict=True):
        for scheme in SCHEMES:
            cells = [r for r in results if r.cell.label == scheme and r.cell.users_per_side == users]
            mean = np.mean([cell.measure("response_time_ms.p99") for cell in cells])
            rows = chart.rows.filter(scheme=vega.names[scheme], number="p99").to_dicts()
            (row,) = [row for row in rows if row["at"] == pytest.approx(panel.values[0], rel=1e-5)]
            assert row["mean"] == pytest.approx(mean, rel=1e-4)
            assert row["low"] < row["mean"] < row["high"]


def test_an_axis_of_names_has_panels_alone(results: list[Result], tmp_path: Path) -> None:
    for congestion in ("reno", "cubic"):
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s"},
            users={"per_side": LOADS[0]},
            tcp={"congestion": congestion},
            protocol={"warmup": "1 s", "duration": "5 s"},
        )
        lab.compare("codel", experiment=experiment, seeds=[1], baseline=False, out=tmp_path)
    store = Store(tmp_path)
    two = panels(list(map(partial(queries.result, store), store.keys())))
    assert [panel.title for panel in two.panels] == ["congestion control cubic", "congestion control reno"]
    assert [chart.title[:14] for chart in two.charts()[0]] == ["Response times"] * 2


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Two schemes over two loads and three delays, two seeds each."""
    out = tmp_path_factory.mktemp("store")
    for users, delay in product(LOADS, (1, 20, 50)):
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s", "delay": f"{delay} ms"},
            users={"per_side": users},
            protocol={"warmup": "1 s", "duration": "5 s"},
        )
        lab.compare("pie", "codel", experiment=experiment, seeds=[1, 2], baseline=False, out=out)
    store = Store(out)
    return sorted(map(partial(queries.result, store), store.keys()), key=grouping.started_at_s)


def test_experiments_that_differ_in_two_ways_are_heat_maps(grid: list[Result]) -> None:
    found = panels(grid)
    assert len(found.panels) == 6
    assert found.axes == ("load, %", "delay of the link, ms")
    assert found.panels[0].title.endswith("%, delay of the link 1 ms")
    heat_charts, vega = found.charts()
    assert {chart.name for chart in heat_charts} >= {"grid-p50", "grid-p99", "grid-throughput"}
    (chart,) = (chart for chart in heat_charts if chart.name == "grid-p99")
    assert chart.rows.height == 12
    for row in chart.rows.iter_rows(named=True):
        values = [
            result.measure("response_time_ms.p99") or np.nan
            for result in grid
            if vega.names[result.cell.label] == row["scheme"]
            and f"{result.cell.row['load_percent']:g}" == row["x"]
            and result.cell.row["delay_ms"] == float(row["y"])
        ]
        assert len(values) == 2
        assert row["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    (view,) = chart.views.values()
    svg = vl_convert.vegalite_to_svg({**view, "datasets": {"rows": chart.record()["rows"]}})
    assert svg.count("mark-rect") >= 2
    order = [svg.index(f">{value}<") for value in (50, 20, 1)]
    assert order == sorted(order), "the vertical axis grows upwards, by number"


def test_a_row_of_the_grid_is_a_comparison_along_one_axis(grid: list[Result]) -> None:
    one_axis = [result for result in grid if result.cell.row["delay_ms"] == 20]
    assert panels(one_axis).axes == ("load, %",)


@pytest.mark.parametrize("share", ["p50", "p90"])
def test_a_ranking_says_what_the_paired_intervals_say(found: Panels, share: str) -> None:
    for panel in found.panels:
        one = ranking.rankings(panel.selection)[("p50", "p90").index(share)]
        values = {
            label: np.array([result.measure(f"response_time_ms.{share}") for result in results])
            for label, results in panel.selection.by_label.items()
        }
        means = {label: values[label].mean() for label in SCHEMES}
        order = sorted(SCHEMES, key=means.__getitem__)
        assert list(one.ranks) == [*order, "uncongested"]
        assert one.ranks[order[0]].verdict == best.BEST
        for label in order[1:]:
            differences = values[label] - values[order[0]]
            # Student's t with two degrees of freedom at 1 - 0.05 / 2 / 2.
            half = 6.205347 * differences.std(ddof=1) / np.sqrt(3)
            is_worse = differences.mean() > half
            assert one.ranks[label].verdict == (best.WORSE if is_worse else best.SIMILAR)
            assert one.ranks[label].difference.startswith(f"+{ranking.number(differences.mean())}")
        assert one.ranks["uncongested"].verdict == ""


def test_two_seeds_rank_without_a_verdict(found: Panels) -> None:
    two = [result for result in found.panels[1].selection.valid if result.cell.seed < 3]
    for one in ranking.rankings(Selection(tuple(two), ())):
        assert not one.has_verdicts
        assert {rank.interval + rank.difference for rank in one.ranks.values()} == {""}


def test_too_many_experiments_are_one_line(results: list[Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aqmlab.reports.panels._MAX_PANELS", 1)
    with pytest.raises(ValueError, match=r"^cells: must be of at most 1 experiments, got 2$"):
        panels(results)
