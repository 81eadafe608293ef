"""Summaries: the same columns in every cell, nulls where there was nothing to measure, and no command minds."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.metrics import summary
from aqmlab.metrics.metrics import MEASURES
from aqmlab.store.result import Result
from conftest import Command

BULK = {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}}}
DATAGRAMS = {"datagrams": {"rate": "100 kbit/s", "packet": "500 B"}}
VIDEO_CALL = {"video_call": {"flows": 1}}
BRIEF = {"warmup": "1 s", "duration": "2 s"}


def brief(**parts: Any) -> lab.Experiment:
    return lab.Experiment(**{"protocol": BRIEF, "link": {"rate": "2 Mbit/s"}, "users": {"per_side": 0}, **parts})


def fields(kind: pa.DataType, value: object) -> None:
    """Every name that the engine writes is a field, in its order, and every field is written."""
    if isinstance(value, Mapping):
        # Only sources of video calls have their row.
        written = [field for field in kind if field.name != "video_calls" or field.name in value]
        assert [field.name for field in written] == list(value)
        for field in written:
            fields(field.type, value[field.name])
    elif isinstance(value, list):
        for inner in value:
            fields(kind.value_type, inner)
    elif value is not None:
        kinds: dict[str, type | tuple[type, ...]] = {"string": str, "int64": int, "double": (int, float)}
        assert isinstance(value, kinds[str(kind)])


def test_the_summarys_columns_are_those_the_engine_writes() -> None:
    # Only users who load pages have the row of pages.
    users = {"per_side": 50, "workload": "web-2024"}
    experiment = brief(users=users, queue={"dualpi2": {}}, sources=[BULK, DATAGRAMS, VIDEO_CALL])
    simulation = _core.Simulation(cells_of(experiment, [1])[0].spec, 1)
    simulation.advance(simulation.end)
    row = json.loads(simulation.summary())
    assert row["users"]
    assert row["classes"]
    assert row["pages"]
    assert row["sources"][1]["datagrams"]
    assert row["sources"][2]["video_calls"]
    fields(pa.struct(list(summary.SCHEMA)), row)


def test_a_column_has_one_type_in_all_cells(tmp_path: Path) -> None:
    experiments = [
        brief(users={"per_side": 50}),
        brief(sources=[BULK, DATAGRAMS], link=[{"rate": "2 Mbit/s"}, {"rate": "1 Mbit/s"}]),
        brief(users={"per_side": 1}, protocol={"warmup": "1 ms", "duration": "1 ms"}),
    ]
    schemas = [
        pq.read_schema(lab.run(experiment, out=tmp_path).directory / "summary.parquet") for experiment in experiments
    ]
    assert all(
        schema.field(name) == field
        for schema in schemas
        for name, field in zip(summary.SCHEMA.names, summary.SCHEMA, strict=True)
    )
    assert pl.read_parquet(tmp_path / "cells" / "*" / "summary.parquet").height == 3


NOTHING = {
    "no traffic": brief(users={"per_side": 1}, protocol={"warmup": "1 ms", "duration": "1 ms"}),
    "datagrams alone": brief(sources=[DATAGRAMS]),
    "a transfer without end": brief(sources=[BULK]),
}


@pytest.mark.parametrize("experiment", NOTHING.values(), ids=NOTHING)
def test_without_completed_requests_request_measures_are_null(experiment: lab.Experiment, tmp_path: Path) -> None:
    result = lab.run(experiment, out=tmp_path)
    assert result.summary["completed_requests"] == 0
    assert set(result.summary["response_time_ms"].values()) == {None}
    assert result.summary["fraction_within_500ms"] is None
    assert result.response_times.is_empty()
    assert result.response_times.columns == [
        "size_low_bytes",
        "size_high_bytes",
        "time_low_ms",
        "time_high_ms",
        "count",
    ]
    assert all(map(math.isnan, lab.quantiles(result.response_times, [0.5, 1])))
    assert json.loads(json.dumps(result.record(), allow_nan=False))["response_time_ms"]["p50"] is None
    assert "response:  p10 -, p25 -, p50 -, p75 -, p90 -, p95 -, p99 -, mean - ms" in repr(result)


def test_where_no_packet_was_sent_nothing_is_said_of_packets(tmp_path: Path) -> None:
    result = lab.run(NOTHING["no traffic"], out=tmp_path)
    shares = ("loss_percent", "mark_percent", "retransmit_percent", "packet_bytes_mean")
    assert {name: result.summary[name] for name in shares} == dict.fromkeys(shares)
    assert set(result.summary["queue_delay_ms"].values()) == {None}
    assert "loss - %, marked - %" in repr(result)


def test_schemes_without_completed_requests_are_compared(aqmlab: Command, tmp_path: Path) -> None:
    nothing = ("droptail", "--rtt", "general-moderate", "--users", "1", "--warmup", "1 s", "--duration", "1 s")
    outcome = aqmlab("compare", *nothing, "--seeds", "1", "--out", "x")
    assert outcome.code == 0, outcome.err
    rows = [words for words in map(str.split, outcome.out.splitlines()) if words[:1] == ["droptail"]]
    assert rows
    assert all(set(words[1:]) <= {"0", "0.0", "0.000", "-"} for words in rows), "no request has no percentile"
    figures = [Path(word) for word in outcome.out.split() if word.endswith(".svg")]
    assert figures
    assert all((tmp_path / figure).exists() for figure in figures)
    outcome = aqmlab("compare", *nothing, "--seeds", "2", "--out", "x", "--json")
    (scheme,) = (item for item in json.loads(outcome.out)["schemes"] if item["label"] == "droptail")
    assert scheme["response_time_ms"]["p50"] is scheme["sd"]["response_time_ms"]["p50"] is None
    assert (scheme["n"]["response_time_ms"]["p50"], scheme["n"]["completed_requests"]) == (0, 2)
    # To explain there is nothing, which is one line.
    (cell, *_) = (tmp_path / "x" / "cells").iterdir()
    outcome = aqmlab("explain", str(cell))
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "no request was completed" in line


def test_a_cell_that_is_older_than_a_column_has_none_of_it(tmp_path: Path) -> None:
    result = lab.run(brief(users={"per_side": 50}), out=tmp_path)
    (older := tmp_path / "older").mkdir()
    pl.read_parquet(result.file("summary")).drop("retransmit_percent").write_parquet(older / "summary.parquet")
    shutil.copy(result.directory / "metadata.json", older)
    record = Result(result.cell, older).record()
    assert record.pop("retransmit_percent") is None
    left = {name: value for name, value in result.record().items() if name != "retransmit_percent"}
    assert {**record, "cell": left["cell"]} == left


def test_a_record_has_all_that_is_measured(tmp_path: Path) -> None:
    marking = brief(
        link={"rate": "2 Mbit/s", "device_fifo": 0},
        users={"per_side": 400},
        queue={"pi": {"q_ref": 10}},
        tcp={"ecn": True},
        protocol={"warmup": "30 s", "duration": "3 min"},
    )
    result = lab.run(marking, out=tmp_path)
    record = result.record()
    assert all(record[name] == result.summary[name] for name in MEASURES)
    assert record["mark_percent"] > 0
    assert record["retransmit_percent"] > 0
    assert 40 < record["packet_bytes_mean"] < 1500
    for direction in record["directions"]:
        assert f"marked {direction['mark_percent']:.2f} %" in repr(result)
    assert f"{record['aborted_requests']} aborted" in repr(result)
    # Little's law: as many wait as come in the time that one waits.
    for direction in record["directions"]:
        sent = result.link.filter(direction=direction["direction"])["packets"].sum() / 180
        waiting = sent * direction["queue_delay_ms"]["mean"] / 1000
        assert waiting == pytest.approx(direction["queue_packets_mean"], rel=0.05)
        assert waiting > 1
    lower, upper = (direction["queue_delay_ms"]["mean"] for direction in record["directions"])
    assert min(lower, upper) <= record["queue_delay_ms"]["mean"] <= max(lower, upper)
