"""The report's figures: each shows the results, with their intervals where there are any."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import vl_convert

import aqmlab as lab
from aqmlab.explanations import PARTS, by_band
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.reports import downsample, narrative
from aqmlab.reports.charts import BARS, charts
from aqmlab.reports.ranking import rankings
from aqmlab.reports.selection import Choice, Selection, select
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results import timeseries
from aqmlab.results.measures.slowdown import slowdowns
from custom_controls import bulk
from fixtures.metadata import LATE, reseal
from fixtures.reports import SCHEMES, Page, experiment, store


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def selection(out: Path) -> Selection:
    return select(out, Choice())


def fields(spec: Any) -> Iterator[str]:
    """Find the fields that a spec draws or tells."""
    if isinstance(spec, dict):
        if isinstance(field := spec.get("field"), str):
            yield field
        for value in spec.values():
            yield from fields(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from fields(value)


def test_each_figure_has_data_and_draws_no_field_that_it_lacks(selection: Selection) -> None:
    chart_list = charts(selection, VegaBuilder(list(selection.by_label)))
    names = [chart.name for chart in chart_list]
    assert names[:6] == ["response-times", "difference", "sizes", "delay", "signals", "probability"]
    assert set(names[6:]) == {"density", *(number.name for number in BARS)}
    for chart in chart_list:
        rows = chart.record()["rows"]
        assert rows
        for view in chart.views.values():
            used = set(fields(view)) - {"at"}
            assert used <= rows[0].keys(), chart.name
            assert "scheme" in used
            assert "null" not in json.dumps([[row[field] for field in used] for row in rows]), chart.name


def test_the_same_specs_give_svg_and_png(selection: Selection) -> None:
    for chart in charts(selection, VegaBuilder(list(selection.by_label))):
        rows = chart.record()["rows"]
        for view in chart.views.values():
            spec = {**view, "width": 400, "datasets": {**view.get("datasets", {}), "rows": rows}}
            assert re.search(r'<path [^>]*aria-|class="mark-', vl_convert.vegalite_to_svg(spec)), chart.name
        assert vl_convert.vegalite_to_png(spec).startswith(b"\x89PNG")


def test_distributions_are_points_of_those_of_compare(selection: Selection) -> None:
    for label, results in selection.by_label.items():
        points = downsample.distribution(results)
        whole = selection.comparison.response_times()[label]
        close = points.join_asof(whole, on="time_ms", strategy="nearest", tolerance=1e-9)
        assert np.allclose(close["fraction"], close["fraction_right"], rtol=1e-12)
        assert whole["time_ms"].max() == points["time_ms"].max()
        assert 30 < len(points) < len(whole)


def test_bars_are_the_means_of_compare_with_their_intervals(selection: Selection) -> None:
    for scheme in selection.comparison.schemes:
        for number in BARS:
            (measure,) = map(str, number.path)
            row = selection.comparison.intervals(measure)[scheme["label"]].row(0, named=True)
            assert row["mean"] == pytest.approx(scheme[measure])
            half = 4.302653 * scheme["sd"][measure] / 3**0.5
            assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-5)
            assert row["low"] == pytest.approx(max(0, scheme[measure] - half), rel=1e-5)


@pytest.mark.parametrize("name", ["speed", "response_time_ms", "response_time_ms.p33", "loss_percent.mean"])
def test_an_interval_of_what_is_not_measured_is_refused(selection: Selection, name: str) -> None:
    with pytest.raises(lab.SpecError, match=r"^measure: "):
        selection.comparison.intervals(name)


def test_distribution_differences_and_bands_match_compare(selection: Selection) -> None:
    assert selection.paired is not None
    charts_by_name = {chart.name: chart for chart in charts(selection, VegaBuilder(list(selection.by_label)))}[
        "difference"
    ]
    for label, band in selection.paired.response_time_differences().items():
        rows = charts_by_name.rows.filter(scheme=label)
        assert np.allclose(rows["more"], 100 * band["difference"], rtol=1e-5)
        assert np.allclose(rows["low"], np.maximum(100 * band["low"], -100), rtol=1e-5)
        assert np.allclose(rows["high"], np.minimum(100 * band["high"], 100), rtol=1e-5)
    assert {"low", "high"} <= set(fields(charts_by_name.views))


def test_thinning_a_queue_loses_no_extreme(selection: Selection) -> None:
    result = selection.by_label["pie:ecn=true"][0]
    thin, queue = timeseries.downsample(result), result.queue
    assert len(thin) <= 2 * timeseries.BINS < len(queue)
    # An empty queue waits for exactly nothing: by rounding below it, an axis would begin at -20 ms.
    assert thin["delay_ms_low"].min() == 0
    for way in (0, 1):
        thin_rows, whole = thin.filter(direction=way), queue.filter(direction=way)
        assert thin_rows["probability_high"].max() == whole["p"].max()
        assert thin_rows["probability_low"].min() == whole["p"].min()
        wire = 8e3 * (whole["bytes"] + whole["packets"] * 38) / 10e6
        assert thin_rows["delay_ms_high"].max() == pytest.approx(wire.max())


def test_a_density_has_every_request_once(selection: Selection) -> None:
    for results in selection.by_label.values():
        cells = downsample.density(results)
        assert cells["percent"].sum() == pytest.approx(100)
        assert cells.select("bytes", "time_ms").is_unique().all()
        every = pl.concat(result.response_time_bins for result in results)
        fast = every.filter(pl.col("time_low_ms") < 100).select(pl.col("count").sum() / every["count"].sum()).item()
        assert cells.filter(pl.col("time_ms") < 99.9)["percent"].sum() == pytest.approx(100 * fast)


def test_slowdown_is_shown_if_every_request_has_a_row(tmp_path: Path) -> None:
    lab.compare("codel", experiment=experiment(record={"exchanges": True}), seeds=[1, 2], out=tmp_path)
    recorded = select(tmp_path, Choice())
    charts_by_name = {chart.name: chart for chart in charts(recorded, VegaBuilder(list(recorded.by_label)))}
    rows = charts_by_name["slowdown"].rows
    assert set(rows["scheme"]) == {"codel"}
    assert (rows["p50"] >= 1).all()
    every = pl.concat(slowdowns(*pair) for pair in zip(*reversed(recorded.by_label.values()), strict=True))
    octave_slowdowns = every.filter(pl.col("response_bytes").is_between(1024, 2047))["slowdown"]
    (row,) = rows.filter(pl.col("bytes").is_between(1024, 2047)).to_dicts()
    assert row["requests"] == len(octave_slowdowns)
    assert row["p50"] == pytest.approx(octave_slowdowns.median(), rel=1e-5)


def test_response_times_by_cause_equal_those_of_explain(out: Path, tmp_path: Path) -> None:
    file = lab.report(out=out, to=tmp_path / "report.html", schemes=["codel"], seeds=[1, 3], explain=True)
    page = Page(file.read_text(encoding="utf-8"))
    rows = pl.DataFrame(page.data["charts"]["parts"]["rows"])
    cells = select(out, Choice(schemes=["codel"], seeds=[1, 3])).by_label
    for label, results in cells.items():
        explained = pl.concat(by_band(lab.explain(result.directory).requests) for result in results)
        for band in ("mean", "p50", "p90", "p99"):
            means = explained.filter(band=band).mean().row(0, named=True)
            mine = rows.filter(scheme=label, band=band)
            assert mine["ms"].sum() == pytest.approx(means["response_time_ms"], rel=1e-4)
            assert mine.filter(part="queueing")["ms"].item() == pytest.approx(means["queueing"], rel=1e-4)
    assert list(page.data["charts"]["parts"]["views"]) == ["all requests", "around p50", "around p90", "around p99"]
    assert "Response times by cause, ms" in page.text
    assert rows.sort("place")["part"].unique(maintain_order=True)[0] == "handshake"
    places = [page.text.index(heading) for heading in ("Answer", "Causes", "Breakdown of response times", "Figures")]
    assert places == sorted(places), "the answer, then its causes"


def test_causes_have_delay_loss_and_the_largest_parts(out: Path) -> None:
    two = select(out, Choice(schemes=["codel", "pie"]))
    names = {label: label for label in two.by_label}
    parts = dict.fromkeys(PARTS, 0.0) | {"queueing": 60.0, "recovery": 30.0, "transmission": 9.0, "handshake": 1.0}
    frame = pl.DataFrame([{"band": "mean", **parts}, {"band": "p90", **dict.fromkeys(PARTS, 5.0)}])
    delay, loss, sentence = narrative.causes(two, {"codel": frame}, names)
    for text, number in ((delay, "delay"), (loss, "loss")):
        means = [downsample.intervals(two, NUMBERS[number])["forward"][label]["mean"].item() for label in two.labels]
        low, high = (float(value) for value in re.findall(r"([\d.]+) (?:ms|%)", text.partition(" forward")[0]))
        assert [low, high] == pytest.approx([min(means), max(means)], rel=0.01)
    assert sentence == (
        "Under codel a mean request takes 100 ms, of which queueing 60 ms (60 %), loss recovery 30 ms (30 %)"
        " and transmission 9 ms (9 %)."
    )


def test_a_live_run_is_not_explained(out: Path, tmp_path: Path) -> None:
    doctored = tmp_path / "store"
    shutil.copytree(out, doctored)
    cell = select(doctored, Choice()).by_label["codel"][0].directory
    reseal(cell, live={**LATE, "valid": True})
    with pytest.raises(lab.SpecError, match="is a live run, which cannot be made again"):
        lab.report(out=doctored, to=tmp_path / "r.html", explain=True)
    assert not (tmp_path / "r.html").exists()


def test_one_seed_has_no_intervals_and_says_so(out: Path) -> None:
    one = select(out, Choice(seeds=[1]))
    charts_by_name = {chart.name: chart for chart in charts(one, VegaBuilder(list(one.by_label)))}
    assert "no band" in charts_by_name["difference"].caption
    for name in ("difference", "loss"):
        assert not {"low", "high"} & {field for view in charts_by_name[name].views.values() for field in fields(view)}
    found = rankings(one)
    names = {label: label for label in one.by_label}
    assert narrative.answer(one, found, names)[-1].startswith("One seed is too few")
    assert len(found) == 3
    for label in SCHEMES:
        p50 = one.by_label[label][0].summary["response_time_ms"]["p50"]
        assert float(found[0].ranks[label].mean.replace(",", "")) == pytest.approx(p50, rel=0.005)


def test_recorded_flows_have_their_windows_over_time(tmp_path: Path) -> None:
    mix = [{"source": "b", "share": 1.0, "congestion": "reno"}]
    result = lab.run(bulk("cubic", mix=mix, sources=("a", "b")), out=tmp_path)
    selection = select(tmp_path, Choice())
    (chart,) = (
        chart
        for chart in charts(selection, VegaBuilder(list(selection.by_label)))
        if chart.name == "congestion-windows"
    )
    assert list(chart.views) == ["a 1", "a 2", "b 1", "b 2"]
    own = result.flows.filter((pl.col("source") == 2) & (pl.col("flow") == 0) & (pl.col("direction") == 1))
    shown = chart.rows.filter(pl.col("flow") == "b 1")
    assert shown["high"].max() == pytest.approx(1e-3 * float(own["cwnd_bytes"].to_numpy().max()), rel=1e-5)
    assert len(shown) == timeseries.BINS
    used = {field for view in chart.views.values() for field in fields(view)}
    assert used - {"at"} <= set(chart.rows.columns)


def test_a_changing_capacity_is_behind_delay_and_throughput(tmp_path: Path) -> None:
    leo = {"leo": {"rate": "4 Mbit/s", "every": "4 s", "offset": "3 s"}}
    source = {"datagrams": {"rate": "6 Mbit/s", "packet": "1000 B", "side": 0}}
    result = lab.run(
        lab.Experiment(
            link={"rate": {"up": leo, "down": "9 Mbit/s"}},
            queue={"codel": {}},
            users={"per_side": 0},
            sources=[source],
            protocol={"warmup": "2 s", "duration": "16 s"},
        ),
        out=tmp_path,
    )
    figures = {chart.name: chart for chart in charts(select(tmp_path, Choice()), VegaBuilder(["codel"]))}
    sent = figures["throughput-over-time"].rows
    capacities = dict(sent.filter(pl.col("capacity").is_not_null()).select("time_s", "capacity").iter_rows())
    (link,) = result.cell.links
    drawn = [capacities[time] for time in (2, 4, 8, 12, 16)]
    rates = dict(link.drain_rates(0, 18.0, result.cell.seed))
    assert drawn == pytest.approx([rates[start] / 1e6 for start in (0.0, 3.0, 7.0, 11.0, 15.0)], rel=1e-5)
    # The link is full: what it sends is its capacity.
    assert sent.filter(direction=0)["mbps"].mean() == pytest.approx(np.mean(list(capacities.values())[:-1]), rel=0.02)
    delays = list(figures["delay"].views.values())
    assert [("resolve" in view) for view in delays] == [True, False]
    for view in (*figures["throughput-over-time"].views.values(), *delays):
        name = "delay" if view in delays else "throughput-over-time"
        values = figures[name].rows.to_dicts()
        assert "<svg" in vl_convert.vegalite_to_svg({**view, "width": 600, "datasets": {"rows": values}})


def test_drops_and_marks_over_time_are_those_of_the_summary(selection: Selection) -> None:
    for result in selection.valid:
        rates = timeseries.signals(result)
        period_s = result.cell.duration_s / rates["time_s"].n_unique()
        for direction in result.summary["directions"]:
            for signal in ("dropped", "marked"):
                shown = rates.filter(direction=direction["direction"], signal=signal)["per_s"]
                assert period_s * float(shown.sum()) == pytest.approx(direction[signal])
    (chart,) = (chart for chart in charts(selection, VegaBuilder(list(selection.by_label))) if chart.name == "signals")
    assert "forward, dropped" in chart.views
    assert {f"{row['signal']}" for row in chart.rows.to_dicts()} == {view.partition(", ")[2] for view in chart.views}


def test_a_constant_link_has_no_figure_of_its_capacity(out: Path) -> None:
    (result, *_) = select(out, Choice()).valid
    assert timeseries.capacity(result).is_empty()
