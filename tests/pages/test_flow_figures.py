"""The figure of flows: rates and fairness over time, against the table of flows by another route."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import vl_convert

import aqmlab as lab
from aqmlab.reports.charts import charts
from aqmlab.reports.selection import Choice, Selection, select
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results import timeseries

WARMUP_S, DURATION_S = 3, 12


def experiment(**record: object) -> lab.Experiment:
    return lab.Experiment.model_validate(
        {
            "link": {"rate": "8 Mbit/s"},
            "users": {"per_side": 0},
            "sources": [
                {"bulk": {"name": "near", "flows": 2, "rtt": {"fixed": "20 ms"}}},
                {"bulk": {"name": "far", "flows": 1, "rtt": {"fixed": "120 ms"}}},
            ],
            "protocol": {"warmup": f"{WARMUP_S} s", "duration": f"{DURATION_S} s"},
            "record": record,
        }
    )


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> Selection:
    out = tmp_path_factory.mktemp("store")
    lab.compare("droptail:limit=60", "fq_codel", experiment=experiment(flows="100 ms"), seeds=[1], out=out)
    return select(str(out), Choice())


def test_rates_and_fairness_are_those_of_the_connections(selection: Selection) -> None:
    for results in selection.by_label.values():
        rows = timeseries.flow_rates(results[0])
        table = results[0].flows
        assert rows.height == DURATION_S
        for row in rows.iter_rows(named=True):
            begin, end = row["time_s"] - 0.5, row["time_s"] + 0.5
            rates = []
            for flow in table.filter(table["direction"] == row["direction"]).partition_by("source", "flow"):
                times, delivered = flow["time_s"].to_numpy(), flow["delivered_bytes"].to_numpy().astype(float)
                at_begin, at_end = (delivered[np.searchsorted(times, time + 1e-6) - 1] for time in (begin, end))
                rates.append(8e-6 * (at_end - at_begin))
            assert len(rates) == 3
            assert row["rate"] == pytest.approx(np.median(rates))
            assert (row["low"], row["high"]) == pytest.approx((min(rates), max(rates)))
            assert row["fairness"] == pytest.approx(sum(rates) ** 2 / (3 * sum(rate**2 for rate in rates)))
            assert sum(rates) <= 8


def test_fair_queueing_is_fairer_than_drop_tail(selection: Selection) -> None:
    fairness = {
        label: timeseries.flow_rates(results[0])["fairness"].mean() for label, results in selection.by_label.items()
    }
    assert 0.99 < float(fairness["fq_codel"] or 0) <= 1  # type: ignore[arg-type]
    assert float(fairness["droptail:limit=60"] or 0) < 0.95  # type: ignore[arg-type]


def test_the_figure_of_flows_is_drawn_in_both_views(selection: Selection) -> None:
    (chart,) = (chart for chart in charts(selection, VegaBuilder(selection.labels)) if chart.name == "flows")
    assert list(chart.views) == ["fairness", "rate of a flow"]
    for view in chart.views.values():
        spec = {**view, "width": 400, "datasets": {"rows": chart.record()["rows"]}}
        assert vl_convert.vegalite_to_svg(spec).count("mark-line") >= 1


def test_without_a_record_of_flows_there_is_no_figure(tmp_path: Path) -> None:
    lab.compare("fq_codel", experiment=experiment(), seeds=[1], out=tmp_path)
    selection = select(str(tmp_path), Choice())
    assert "flows" not in {chart.name for chart in charts(selection, VegaBuilder(selection.labels))}
