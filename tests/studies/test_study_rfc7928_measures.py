"""Measures of the study of RFC 7928: delays, marks, losses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.rfc7928 import Rfc7928, losses, measures
from fixtures.rfc7928 import Losses, cell_of, dry, losses_at, parquet, parse, written


def test_measures_are_of_the_window_and_the_datas_direction(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s", "device_fifo": 0},
        queue={"droptail": {"limit": 84}},
        users={"per_side": 0},
        sources=[{"bulk": {"name": "long", "flows": 1, "rtt": {"fixed": "100 ms"}}}],
        # Without timestamps nothing of the slow start's losses is taken for spurious.
        tcp={"profile": "linux-6", "congestion": "reno", "timestamps": False},
        protocol={"warmup": "4 s", "duration": "6 s"},
    )
    result = lab.run(experiment, out=tmp_path)
    delays, rates = measures.windows(result)
    assert len(delays) == len(rates) == 6, "a slice a second"
    sent = result.link.filter(pl.col("direction") == 1)["bytes"].to_numpy()
    assert rates.sum() == pytest.approx(8e-6 * sent.sum())
    assert 0.9 < kit.of_source("long", "goodput_mbps")(result) / rates.mean() < 1, "headers"
    # 84 packets of 1,538 bytes on the wire.
    assert (
        0 < measures.delay_ms(result) <= measures.delay_p95_ms(result) <= measures.delay_p99_ms(result) <= 84 * 1.2304
    )
    assert math.isnan(kit.of_source("long", "mean")(result)), "nothing was completed"
    whole: Any = result.summary["counters"][1]
    assert whole["dropped_by_limit"] > 50, "in the slow start"
    assert kit.data_loss_percent(result) < 0.1, "it was in the warm-up"


def test_queueing_delay_is_the_time_to_send_the_queue(tmp_path: Path) -> None:
    study = Rfc7928()
    (cell,) = study_cells(study, study.lengths["quick"].repeated(range(1, 2)), {})["medium/codel"]
    # 9 to 11 packets of 1,500 bytes, which take 1,538 on the wire, at 10 Mbit/s.
    result = written(tmp_path / "cell", cell)
    assert measures.delay_ms(result) == pytest.approx(10 * 1.2304, rel=0.005)
    assert measures.delay_p99_ms(result) == pytest.approx(11 * 1.2304)
    # Up by one, up by one, down by two.
    assert measures.jitter_ms(result) == pytest.approx(4 / 3 * 1.2304, rel=0.01)
    assert (kit.data_loss_percent(result), kit.data_mark_percent(result)) == (1, 2)


def test_what_waits_is_sent_at_the_rates_that_the_link_has_then(tmp_path: Path) -> None:
    result = written(tmp_path / "cell", cell_of("capacity-slow/codel"))
    # 100,000 bytes, a frame of one packet: 8 ms at 100 Mbit/s, 80 ms at 10.
    times = [10.0, 19.995, 20.0, 39.96, 90.0]
    packets = pl.Series([1] * len(times), dtype=pl.UInt32)
    waiting = {"time_s": times, "direction": [1] * len(times), "bytes": [99_962] * len(times), "packets": packets}
    (result.directory / "queue.parquet").write_bytes(parquet(pl.DataFrame(waiting)))
    # 5 ms at the fast rate and 3 at a tenth of it; 40 ms at the slow rate and the other half at ten times that.
    assert kit.delays_ms(result)["delay_ms"].to_list() == pytest.approx([8, 35, 80, 44, 8])


def test_the_queueing_delay_of_links_in_series_is_their_sum(tmp_path: Path) -> None:
    result = written(tmp_path / "cell", cell_of("series/codel"))
    longer = pl.when(pl.col("link") == 2).then(2).otherwise(1)
    queue = result.queue.with_columns(pl.col("packets") * longer, pl.col("bytes") * longer)
    (result.directory / "queue.parquet").write_bytes(parquet(queue))
    assert len(kit.delays_ms(result)) == 200, "one for each time"
    assert measures.delay_ms(result) == pytest.approx(3 * 10 * 1.2304, rel=0.005)
    first, second = (measures.at_link(number, np.mean)(result) for number in (2, 1))
    assert (first, second) == pytest.approx((2 * 10 * 1.2304, 10 * 1.2304), rel=0.005)
    assert kit.data_loss_percent(result) == 1, "of the packets that come to either"


def test_losses_are_told_apart_in_time_and_by_flow(tmp_path: Path) -> None:
    result = written(tmp_path / "cell", cell_of("mild/codel"))
    # Of three flows: in the first round trip two lose something, much later one.
    assert losses.gaps_ms(result).tolist() == pytest.approx([1, 49, 250])
    assert losses.mean_gap_ms(result) == pytest.approx(100)
    assert losses.variation(result) == pytest.approx(math.sqrt((99**2 + 51**2 + 150**2) / 3) / 100)
    assert losses.burst_percent(result) == pytest.approx(100 / 3)
    assert losses.synchronisation_percent(result) == pytest.approx(100 * (2 + 1) / 2 / 3)


def test_a_loss_event_ends_a_round_trip_after_its_first_loss(tmp_path: Path) -> None:
    result = written(tmp_path / "cell", cell_of("mild/codel"))
    # A chain of losses less than a round trip apart: events of 0 to 60 ms and 120 to 180 ms, not one.
    (result.directory / "losses.parquet").write_bytes(losses_at(10.0, (0, 60, 120, 180), (1, 2, 1, 3)))
    assert losses.synchronisation_percent(result) == pytest.approx(100 * (2 + 2) / 2 / 3)


def test_without_losses_there_is_no_number(tmp_path: Path) -> None:
    none: Losses = ((), ())
    result = written(tmp_path / "cell", cell_of("mild/codel"), none)
    for measure in (losses.mean_gap_ms, losses.variation, losses.burst_percent, losses.synchronisation_percent):
        assert math.isnan(measure(result))
    report = dry(Rfc7928().with_schemes(parse("codel")), tmp_path / "dry", lost=none)
    (table,) = (each for each in report.tables if each.name == "losses")
    assert all(row[-1] is None for row in table.rows)
    (figure,) = (each for each in report.figures if each.name == "losses")
    figure.draw(Figure(layout="constrained"))


def test_start_up_time_is_of_one_segment_and_its_handshake(tmp_path: Path) -> None:
    cell = cell_of("start-up/codel")
    first = next(source["transfers"] for source in cell.resolved["sources"] if "transfers" in source)
    assert first["size"] == {"fixed": "1000 B"}, "less than the 1,448 bytes of a segment"
    assert measures.handshake_loss_percent(written(tmp_path / "cell", cell)) == 50


def test_recorded_losses_equal_the_links_counts(tmp_path: Path) -> None:
    experiment = cell_of("medium/codel").resolved
    assert experiment["record"]["losses"]
    assert "losses" not in cell_of("mix-1/codel").resolved["record"], "stored results keep their keys"
    result = lab.run(
        lab.Experiment(
            link={"rate": "10 Mbit/s", "device_fifo": 0},
            queue={"codel": {}},
            users={"per_side": 0},
            sources=[{"bulk": {"name": "long", "flows": 3, "rtt": {"fixed": "100 ms"}}}],
            tcp={"profile": "linux-6"},
            protocol={"warmup": "2 s", "duration": "10 s"},
            record={"losses": True},
        ),
        out=tmp_path,
    )
    dropped = result.link.filter(pl.col("direction") == 1)["drops"].sum()
    assert 0 < dropped == len(result.losses.filter(pl.col("direction") == 1))
    assert 1 <= result.losses["flow"].n_unique() <= 3
    assert 100 / 3 <= losses.synchronisation_percent(result) <= 100


def test_losses_that_were_not_recorded_are_refused_in_one_line(tmp_path: Path) -> None:
    result = written(tmp_path / "cell", cell_of("mix-1/codel"))
    with pytest.raises(SpecError, match=r"^record.losses: must be true to have this table, got false$"):
        _ = result.losses
