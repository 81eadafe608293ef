"""Rankings of schemes, and the experiments of a comparison along their axis."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import vl_convert

import aqmlab as lab
from aqmlab.console import queries
from aqmlab.reports import ranking
from aqmlab.reports.charts import Chart
from aqmlab.reports.selection import Selection
from aqmlab.reports.sweeps import parallel
from aqmlab.reports.sweeps.panels import Panels, panels
from aqmlab.reports.vega import VegaBuilder
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
    assert found.panels[0].title == f"load {values[0]:.3g} %"


def test_one_experiment_has_no_axis(results: list[Result]) -> None:
    one = panels([result for result in results if result.cell.users_per_side == LOADS[0]])
    assert (len(one.panels), one.axes, one.panels[0].title) == (1, (), "")
    assert "difference" in {chart.name for chart in one.charts()[0]}


def test_numbers_over_the_axis_are_the_means_of_the_cells(found: Panels, results: list[Result]) -> None:
    (chart, *_), vega = found.charts()
    for panel, users in zip(found.panels, LOADS, strict=True):
        for scheme in SCHEMES:
            cells = [r for r in results if r.cell.label == scheme and r.cell.users_per_side == users]
            mean = np.mean([cell.measure("response_time_ms.p99") for cell in cells])
            rows = chart.rows.filter(scheme=vega.names[scheme], number="p99").to_dicts()
            (row,) = [row for row in rows if row["at"] == pytest.approx(panel.values[0], rel=1e-5)]
            assert row["mean"] == pytest.approx(mean, rel=1e-4)
            assert row["low"] < row["mean"] < row["high"]


def test_small_multiples_have_the_capacity_of_links_that_vary(tmp_path: Path) -> None:
    for mbps in (4, 8):
        up = {"trace": {"seconds": [0, 2], "mbps": [mbps, mbps / 2]}}
        experiment = lab.Experiment(
            link={"rate": {"up": up, "down": "9 Mbit/s"}},
            users={"per_side": 0},
            sources=[{"bulk": {"flows": 1}}],
            protocol={"warmup": "1 s", "duration": "4 s"},
        )
        lab.compare("codel", experiment=experiment, seeds=[1], baseline=False, out=tmp_path)
    store = Store(tmp_path)
    figures, _ = panels([queries.result(store, key) for key in store.cells()["cell"]]).charts()
    (delay,) = (chart for chart in figures if chart.name == "delay-multiples")
    assert delay.schemes == ["codel"]
    most = delay.rows.group_by("panel").agg(pl.col("capacity").max())["capacity"]
    assert sorted(most) == [4, 8]
    varying, constant = delay.views.values()
    area, lines = varying["spec"]["layer"]
    assert area["encoding"]["y"]["scale"]["domain"] == [0, 8], "all panels have the same axes"
    assert {layer["encoding"]["y"]["scale"]["domain"][1] for layer in lines["layer"]} == {delay.rows["high"].max()}
    assert "resolve" not in constant["spec"]
    for view in delay.views:
        assert "rate, Mbit/s" in svg_of(delay, view) or view == "reverse"


def svg_of(chart: Chart, view: str) -> str:
    spec = {**chart.views[view], "datasets": {"rows": chart.record()["rows"]}}
    return str(vl_convert.vegalite_to_svg(spec))


def test_each_experiment_is_a_small_multiple_on_shared_axes(found: Panels) -> None:
    charts_by_name = {chart.name: chart for chart in found.charts()[0]}
    titles = [panel.title for panel in found.panels]
    for name in ("response-times", "delay"):
        chart = charts_by_name[f"{name}-multiples"]
        assert chart.rows["panel"].unique(maintain_order=True).to_list() == titles
        for view in chart.views:
            svg = svg_of(chart, view)
            places = [svg.index(title) for title in titles]
            assert places == sorted(places)
            assert svg.count("role-row-header") + svg.count("role-row-footer") + svg.count("role-column-footer") > 0


def test_a_line_of_parallel_coordinates_has_the_means_of_cells(found: Panels) -> None:
    charts, _ = found.charts()
    (chart,) = (chart for chart in charts if chart.name == "parallel")
    assert len(chart.rows["point"].unique()) == len(LOADS) * len(SCHEMES)
    (view,) = chart.views.values()
    order = view["layer"][0]["encoding"]["x"]["sort"]
    assert order[:2] == ["load, %", "response p50, ms"]
    for axis in order:
        shares = chart.rows.filter(axis=axis)["share"]
        assert (shares.min(), shares.max()) == (0, 1)
    (axis_chart,) = (chart for chart in charts if chart.name == "axis")
    means = axis_chart.rows.filter(number="p99").sort("mean")
    lines = chart.rows.filter(axis="response p99, ms").sort("share")
    assert lines["scheme"].to_list() == means["scheme"].to_list()
    svg = svg_of(chart, "")
    assert svg.count('stroke-opacity="0.75"') or svg.count('opacity="0.75"')


def test_an_axis_names_its_values_at_their_places() -> None:
    points = pl.DataFrame(
        {"label": ["a", "b", "c"], "target": ["10 ms", "5 ms", "10 ms"], "delay": [10.0, 30.0, 50.0], "same": [1, 1, 1]}
    )
    titles = {"target": "target", "delay": "delay, ms", "same": "seeds"}
    chart = parallel.chart(points, titles, 1, VegaBuilder(["a", "b", "c"]))
    assert chart is not None
    (view,) = chart.views.values()
    ticks = [(tick["axis"], tick["text"], tick["share"]) for tick in view["layer"][2]["data"]["values"]]
    assert ticks == [
        ("target", "5 ms", 0),
        ("target", "10 ms", 1),
        ("delay, ms", "10", 0),
        ("delay, ms", "30", 0.5),
        ("delay, ms", "50", 1),
    ]
    assert chart.rows["point"].unique(maintain_order=True).to_list() == [
        "a, target 10 ms",
        "b, target 5 ms",
        "c, target 10 ms",
    ]
    assert parallel.chart(points.head(1), titles, 1, VegaBuilder(["a"])) is None


def test_a_path_of_the_spec_is_an_axis(tmp_path: Path) -> None:
    for window in (4, 10):
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s"},
            users={"per_side": 20},
            tcp={"initial_window": window},
            protocol={"warmup": "1 s", "duration": "2 s"},
        )
        lab.compare("codel", experiment=experiment, seeds=[1], baseline=False, out=tmp_path)
    store = Store(tmp_path)
    found = panels(list(map(partial(queries.result, store), store.keys())))
    assert found.axes == ("tcp.initial_window",)
    assert [panel.values for panel in found.panels] == [(4,), (10,)]


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
    assert [chart.name for chart in two.charts()[0]] == ["parallel", "response-times-multiples", "delay-multiples"]


def test_values_of_an_axis_have_the_digits_that_tell_them_apart(tmp_path: Path) -> None:
    for delay in ("2.61538 ms", "12.5 ms"):
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s", "delay": delay},
            users={"per_side": 20},
            protocol={"warmup": "1 s", "duration": "2 s"},
        )
        lab.compare("codel", experiment=experiment, seeds=[1], baseline=False, out=tmp_path)
    store = Store(tmp_path)
    found = panels(list(map(partial(queries.result, store), store.keys())))
    assert [panel.title for panel in found.panels] == ["delay of the link 2.62 ms", "delay of the link 12.5 ms"]
    assert [panel.values for panel in found.panels] == [(2.61538,), (12.5,)]


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
            and result.cell.row["load_percent"] == pytest.approx(float(row["x"]), abs=0.05)
            and result.cell.row["delay_ms"] == float(row["y"])
        ]
        assert len(values) == 2
        assert row["mean"] == pytest.approx(np.mean(values), rel=1e-5)
    svg = svg_of(chart, "")
    assert svg.count("mark-rect") >= 2
    order = [svg.index(f">{value}<") for value in (50, 20, 1)]
    assert order == sorted(order), "the vertical axis grows upwards, by number"


def test_a_row_of_the_grid_is_a_comparison_along_one_axis(grid: list[Result]) -> None:
    one_axis = [result for result in grid if result.cell.row["delay_ms"] == 20]
    assert panels(one_axis).axes == ("load, %",)


@pytest.mark.parametrize("share", ["p50", "p90", "p99"])
def test_a_ranking_says_what_the_paired_intervals_say(found: Panels, share: str) -> None:
    for panel in found.panels:
        one = ranking.rankings(panel.selection)[("p50", "p90", "p99").index(share)]
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
    monkeypatch.setattr("aqmlab.reports.sweeps.panels._MAX_PANELS", 1)
    with pytest.raises(ValueError, match=r"^cells: must be of at most 1 experiments, got 2$"):
        panels(results)
