"""Pages of today: page load times against the rows of exchanges, names of numbers, comparisons, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.metrics.parts import Parts
from aqmlab.results.table import parts

SPEC: dict[str, Any] = {
    "link": {"rate": "20 Mbit/s", "delay": "5 ms", "device_fifo": 0},
    "tcp": {"profile": "linux-6"},
    "users": {"per_side": 10, "sides": 1, "workload": "web-2024"},
    "protocol": {"warmup": "0 s", "duration": "120 s"},
    "record": {"exchanges": True},
}
SCHEMES = ("droptail:limit=400", "fq_codel")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    out = tmp_path_factory.mktemp("results")
    return lab.compare(*SCHEMES, experiment=lab.Experiment(**SPEC), seeds=[7], out=out, baseline=False)


def test_page_load_times_are_those_of_the_exchanges(comparison: lab.Comparison) -> None:
    for result in comparison.results:
        # The number of the page is in that of the connection.
        page = pl.col("connection").floordiv(2**24)
        end = pl.col("start_s") + pl.col("response_time_ms") / 1000
        loads = (
            result.exchanges.group_by("user", page)
            .agg(load=end.max() - pl.col("start_s").min(), bytes=pl.col("response_bytes").sum(), requests=pl.len())
            .select("load", "bytes", "requests")
        )
        pages = result.record()["pages"]
        # Under this seed each page has ended when the run ends.
        assert (pages["pages"], pages["incomplete_pages"]) == (loads.height, 0)
        assert pages["load_s_mean"] == pytest.approx(loads["load"].mean())
        assert pages["load_s_p95"] == pytest.approx(loads["load"].quantile(0.95, "higher"), rel=0.2)
        assert pages["requests_mean"] == pytest.approx(loads["requests"].mean())
        assert 1e6 * pages["weight_mb_mean"] * loads.height == pytest.approx(loads["bytes"].sum())
        assert pages["first_render_s_p50"] < pages["load_s_p50"] < pages["load_s_p95"]
        assert pages["byte_index_s_mean"] < pages["load_s_mean"]


def test_comparisons_show_pages_and_numbers_have_names(comparison: lab.Comparison) -> None:
    (quality,) = (part for part in parts(comparison.schemes) if part.title == "Quality for people")
    assert {row.part for row in quality.rows} == {"web users"}
    names = Parts.from_cells(result.cell for result in comparison.results)
    number = names.find("web users page load p95", "measures")
    for result in comparison.results:
        assert number.read(result.record()) == result.record()["pages"]["load_s_p95"]
    old = Parts.from_specs([{"users": {"per_side": 1, "workload": {"name": "unc"}}, "link": {}}])
    with pytest.raises(lab.SpecError, match="no number is called"):
        old.find("web users page load p95", "measures")


def test_a_custom_table_works_and_its_mistakes_are_one_line(tmp_path: Path) -> None:
    spec = lab.Experiment(users=SPEC["users"])
    table: dict[str, Any] = json.loads(_core.Resolved(spec.to_json()).json)["users"]["workload"]
    table["name"] = "mine"
    table["think_seconds"]["mean"] = 5
    users = {**SPEC["users"], "workload": table}
    assert lab.Experiment(users=users).users.names[0].startswith("mine-")
    table["resources"]["css"]["per_page"]["nodes"][0][0] = 0.05
    with pytest.raises(lab.SpecError, match=r"^users\.workload\.resources\.css\.per_page\.nodes\[0\]: u of the first"):
        lab.run(lab.Experiment(**{**SPEC, "users": users}), out=tmp_path)
    del table["resources"]["css"]
    with pytest.raises(lab.SpecError, match=r"^users\.workload\.resources: .*css"):
        lab.run(lab.Experiment(**{**SPEC, "users": users}), out=tmp_path)
