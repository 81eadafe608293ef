"""The table of flows with a row after each change of a flow's state."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
import pyarrow.parquet as pq
import pytest

import aqmlab as lab
from aqmlab.conformance.suite import conform
from aqmlab.running import run


def experiment(flows: object) -> lab.Experiment:
    """Return two downloads of CUBIC over one link."""
    return lab.Experiment(
        link={"rate": "10 Mbit/s"},
        queue={"droptail": {"limit": 40}},
        users={"per_side": 0},
        sources=[{"bulk": {"flows": 2, "rtt": {"fixed": "20 ms"}}}],
        record={"flows": flows},
        protocol={"warmup": "1 s", "duration": "8 s"},
    )


def test_rates_of_changes_are_those_of_samples(tmp_path: Path) -> None:
    changes, samples = (lab.run(experiment(every), out=tmp_path).flows for every in ("changes", "10 ms"))
    assert changes.schema == samples.schema
    pair = lab.flows.rates(changes).join(lab.flows.rates(samples), on=["label", pl.col("time_s").round(3)], how="inner")
    assert pair.height == 2 * 8
    # The last row before the end of a window is some milliseconds older.
    assert pair.filter((pl.col("rate_mbps") - pl.col("rate_mbps_right")).abs() > 0.2).is_empty()
    figure, axis = plt.subplots()
    assert len(lab.plot.flows(changes, axis, show="cwnd").lines) >= 2
    plt.close(figure)


def test_changes_are_written_before_they_take_much_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lab.run(experiment("changes"), out=tmp_path / "whole")
    monkeypatch.setattr(run, "_ROWS_A_GROUP", 100)
    parts = lab.run(experiment("changes"), out=tmp_path / "parts")
    groups = [pq.ParquetFile(result.directory / "flows.parquet").num_row_groups for result in (whole, parts)]
    assert groups[0] == 1
    assert groups[1] > 4
    assert parts.flows.equals(whole.flows)


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_conformance_has_the_same_verdicts_from_changes(control: str, tmp_path: Path) -> None:
    verdicts = [
        {outcome.case.id: outcome.verdict for outcome in conform(control, changes=change, out=tmp_path, progress=False)}
        for change in ((), ("record.flows=changes",))
    ]
    assert verdicts[0] == verdicts[1]
