from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import aqmlab as lab
from aqmlab import stats
from aqmlab.cells import columns
from aqmlab.cells.cell import Cell
from aqmlab.metrics import summary
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store


def digests(result: lab.Result) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in result.directory.glob("*.parquet")}


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(small: lab.Experiment, tmp_path: Path) -> None:
    recorded = small.model_copy(update={"record": lab.Record(exchanges=True)})
    first, repeat, other_seed = (
        lab.run(recorded, seed=seed, out=tmp_path / name) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert set(digests(first)) == {
        f"{table}.parquet" for table in ("exchanges", "link", "queue", "response_times", "summary")
    }
    assert digests(first) == digests(repeat)
    assert not digests(first).items() & digests(other_seed).items()


def test_a_cell_that_was_run_is_not_run_again(small_cell: Cell, store: Store) -> None:
    first = run_cell(small_cell, store)
    before = first.metadata

    def watch(now: float, end: float) -> None:
        raise AssertionError(f"ran to {now} of {end}")

    assert run_cell(small_cell, store, watch).metadata == before


def test_the_watch_hears_of_the_simulated_time_up_to_its_end(small_cell: Cell, store: Store) -> None:
    heard: list[tuple[float, float]] = []
    run_cell(small_cell, store, lambda now, end: heard.append((now, end)))
    times = [now for now, _ in heard]
    assert times == pytest.approx(range(1, 71))
    assert heard[-1] == (70, 70)


def test_a_watch_that_raises_leaves_no_half_cell(small_cell: Cell, store: Store) -> None:
    def watch(now: float, end: float) -> None:
        if now > 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cell(small_cell, store, watch)
    assert list((store.out / "cells").iterdir()) == []


def test_the_tables_agree_with_the_summary(small: lab.Experiment, tmp_path: Path) -> None:
    recorded = small.model_copy(update={"record": lab.Record(exchanges=True)})
    result = lab.run(recorded, out=tmp_path)
    summary = result.summary
    assert summary["completed_requests"] == result.response_times["count"].sum() == result.exchanges.height
    (loss,) = result.link.select(100 * pl.col("drops").sum() / pl.col("arrived").sum()).to_series()
    assert summary["loss_percent"] == pytest.approx(loss, rel=0.01)
    times = result.exchanges["response_time_ms"].to_numpy()
    percentiles = (10, 25, 50, 75, 90, 95, 99)
    quantiles = stats.quantiles(result.response_times, [percentile / 100 for percentile in percentiles])
    for percentile, quantile in zip(percentiles, quantiles, strict=True):
        assert summary["response_time_ms"][f"p{percentile}"] == pytest.approx(quantile, rel=1e-9)
    assert summary["response_time_ms"]["mean"] == pytest.approx(times.mean(), rel=0.001)
    # One row for each direction every 10 ms of the measured window.
    assert result.queue.height == pytest.approx(2 * 65 / 0.01, abs=4)


def test_every_packet_is_accounted_for(small: lab.Experiment, tmp_path: Path) -> None:
    for link in lab.run(small, out=tmp_path).summary["counters"]:
        causes = ("dropped_early", "dropped_forced", "dropped_by_limit", "dropped_at_dequeue", "evicted")
        assert link["arrived"] == link["sent"] + sum(link[cause] for cause in causes) + link["held"]
        assert link["arrived"] > 0


def test_what_was_not_recorded_is_said_to_be_so(small: lab.Experiment, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=r"record\.exchanges: must be true"):
        _ = lab.run(small, out=tmp_path).exchanges


def test_what_was_recorded_is_a_table_even_if_nothing_happened(small: lab.Experiment, tmp_path: Path) -> None:
    record = lab.Record(exchanges=True, losses=True)
    lossless = small.model_copy(
        update={"record": record, "link": small.links[0].model_copy(update={"rate": "1 Gbit/s"})}
    )
    result = lab.run(lossless, out=tmp_path)
    assert result.exchanges.height > 0
    assert result.losses.is_empty()
    assert result.losses.columns == ["time_s", "direction", "source", "flow"]


def test_a_result_says_what_it_is_and_where_it_came_from(small: lab.Experiment, tmp_path: Path) -> None:
    result = lab.run(small, seed=7, out=tmp_path)
    text = repr(result)
    assert text.startswith("pi:q_ref=10 at ")
    for part in ("400 users on each side", "seed 7", "loss", "p99", "x real time", str(result.directory)):
        assert part in text
    assert {"seed", "engine", "commit", "python", "machine", "wall_s", "cpu_s"} <= result.metadata.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queue": {"red": {"min_th": 12, "max_th": 8}}}, "queue.red.max_th: "),
        ({"queue": {"pi": {"q_ref": -1}}}, "queue.pi.q_ref: "),
        ({"link": {"rate": "100 Mbit"}}, "link.rate: "),
        ({"link": {"rate": "100 ms"}}, "link.rate: "),
        ({"tcp": {"initial_rtoo": "3 s"}}, "tcp.initial_rtoo: "),
        ({"tcp": {"profile": "windows-95"}}, "tcp.profile: "),
        ({"users": {"per_side": 0}}, "users.per_side: must be at least 1 where there are no sources, got 0"),
        ({"users": {"per_side": 10**9}}, "users.per_side: must be at most "),
        ({"users": {"per_side": 10, "rtt": "uniforms"}}, "users.rtt: "),
        ({"protocol": {"duration": "0 s"}}, "protocol.duration: must be between 1 ms and "),
        ({"protocol": {"duration": "90"}}, "protocol.duration: "),
        ({"protocol": {"duration": "1000000 h"}}, "protocol.duration: must be between 1 ms and "),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(
    small: lab.Experiment, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    experiment = lab.Experiment(**(small.model_dump(exclude_none=True) | change))
    with pytest.raises(lab.SpecError) as error:
        lab.run(experiment, out=tmp_path)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_run_tells_how_far_it_is_where_that_is_asked_for(
    small: lab.Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run(small, out=tmp_path / "silent")
    assert capsys.readouterr() == ("", "")
    lab.run(small, out=tmp_path / "told", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "x real time" in err


def test_a_notebook_shows_a_result_as_one_table(small: lab.Experiment, tmp_path: Path) -> None:
    html = lab.run(small, out=tmp_path)._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 1
    for name in ("forward", "reverse", "users", "response", "tables"):
        assert f">{name}</th>" in html


def test_a_row_of_json_keeps_its_numbers_however_long_it_is() -> None:
    expected = {"parameters": "x" * 3_000_000, "seed": 2**64 - 1, "load_percent": 0.1 + 0.2}
    row = summary.as_row(json.dumps(expected), columns.SCHEMA)
    assert row.schema == columns.SCHEMA
    assert {name: value for name, value in row.to_pylist()[0].items() if value is not None} == expected
    with pytest.raises(pa.ArrowInvalid):
        summary.as_row(json.dumps({**expected, "colour": "blue"}), columns.SCHEMA)


def test_one_completed_request_is_written_in_the_singular(small_cell: Cell, store: Store) -> None:
    result = run_cell(small_cell, store)
    assert f"{result.summary['completed_requests']:,} requests completed" in repr(result)
    vars(result)["summary"] = {**result.summary, "completed_requests": 1}
    assert "1 request completed" in repr(result)
