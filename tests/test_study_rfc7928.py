from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import aqmlab as lab
import made
from aqmlab._core import SpecError
from aqmlab.results.result import Result
from aqmlab.running.cell import Cell
from aqmlab.spec import schemes
from aqmlab.spec.units import seconds
from aqmlab.studies import STUDIES, find
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims import All, Between, Predicate, Raises
from aqmlab.studies.kit.study import Report, Study, study_cells
from aqmlab.studies.rfc7928 import Rfc7928, losses, measures
from aqmlab.studies.rfc7928.runs import BURSTS, FAIRNESS, LEVELS, VARYING
from aqmlab.studies.rfc7928.schemes import can_mark, variants
from aqmlab.studies.rfc7928.topologies import pairs
from conftest import Command, Write

OWN = '''
import aqmlab as lab


class Always(lab.Law):
    """Lets all pass."""

    def on_enqueue(self, packet, queue, now):
        return lab.Verdict.PASS
'''


Losses = tuple[tuple[float, ...], tuple[int, ...]]

LOST: Losses = ((0, 1, 50, 300), (1, 1, 2, 3))
"""When something is lost, in ms after the warm-up, and of which flow."""


def parse(*texts: str) -> list[schemes.Scheme]:
    return [schemes.parse(text) for text in texts]


@cache
def table(name: str, begin: float, links: int = 1) -> bytes:
    """Make up 2 s of a queue of 9 to 11 packets in the direction of the data, at every link in series."""
    step = {"queue": 0.01, "link": 0.1}[name]
    times = begin + step * np.arange(1, round(2 / step) + 1)
    frame = pl.DataFrame({"time_s": np.repeat(times, 2), "direction": np.tile([0, 1], len(times)).astype(np.uint8)})
    waiting = pl.col("direction") * (9 + pl.col("time_s").rank("dense") % 3)
    columns: dict[str, pl.Expr] = (
        {"packets": waiting, "bytes": 1500 * waiting}
        if name == "queue"
        else {"arrived": pl.lit(100), "bytes": 100_000 + 1000 * waiting, "drops": pl.lit(1), "marks": pl.lit(2)}
    )
    frame = frame.with_columns(**columns)
    if links > 1:
        frame = frame.join(pl.DataFrame({"link": range(1, links + 1)}), how="cross", maintain_order="left_right")
    return parquet(made.table(name, frame))


@cache
def summary(names: tuple[str, ...], seed: int) -> bytes:
    """Make up numbers for each source."""
    numbers = {
        "goodput_mbps": 2.0 + 0.01 * seed,
        "response_time_ms": {"mean": 500.0 + seed, "p50": 450.0, "p95": 900.0, "p99": 950.0},
        "datagrams": {"loss_percent": 0.5, "delay_ms_mean": 3.0, "delay_ms_p99": 9.0 + seed},
    }
    return parquet(made.summary_of({"sources": [{"name": name, **numbers} for name in names]}))


def parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def written(directory: Path, cell: Cell, lost: Losses = LOST) -> Result:
    """Write what a cell might have given."""
    directory.mkdir(parents=True)
    names = tuple(next(iter(source.values()))["name"] for source in cell.resolved["sources"])
    begin = seconds(cell.resolved["protocol"]["warmup"])
    (directory / "summary.parquet").write_bytes(summary(names, cell.seed))
    for name in ("queue", "link"):
        links = len(cell.resolved.get("chain", [0]))
        (directory / f"{name}.parquet").write_bytes(table(name, begin, links))
    (directory / "losses.parquet").write_bytes(losses_at(begin, *lost))
    made.write(directory, exchanges=pl.DataFrame({"syn_retransmits": [0, 1, 0, 2]}))
    return Result(cell, directory)


@cache
def losses_at(begin: float, after_ms: tuple[float, ...], flows: tuple[int, ...]) -> bytes:
    """Make up losses of some flows so long after the warm-up."""
    times = [begin + after / 1e3 for after in after_ms]
    return parquet(made.table("losses", pl.DataFrame({"time_s": times, "direction": 1, "source": 1, "flow": flows})))


def dry(study: Study, tmp_path: Path, length: str = "quick", lost: Losses = LOST) -> Report:
    """Report on results that were made up."""
    cells = study_cells(study, study.lengths[length].repeated(range(1, 3)), {})
    results = {
        name: [written(tmp_path / str(number) / str(cell.seed), cell, lost) for cell in some]
        for number, (name, some) in enumerate(cells.items())
    }
    return Report.of(study, study.lengths[length], results)


def runs_of(predicate: Predicate) -> list[str]:
    """Return the runs that a claim looks at."""
    match predicate:
        case All(parts=parts):
            return [run for part in parts for run in runs_of(part)]
        case Raises(scheme=scheme, over=over):
            return [scheme, over]
        case Between(scheme=scheme):
            return [scheme]
    raise AssertionError(predicate)


def test_it_is_registered() -> None:
    assert "rfc7928" in STUDIES
    assert isinstance(find("rfc7928"), Rfc7928)


@pytest.mark.parametrize("length", ["quick", "default", "full"])
def test_runs_have_names_of_their_own_and_claims_find_theirs_in_each_length(length: str) -> None:
    study = Rfc7928()
    names = [run.name for run in study.runs(study.lengths[length])]
    assert len(set(names)) == len(names)
    for claim in study.claims:
        assert set(runs_of(claim.predicate)) <= set(names)


def test_tables_and_figures_find_their_runs(tmp_path: Path) -> None:
    report = dry(Rfc7928(), tmp_path)
    assert [claim.id for claim, _ in report.findings] == [f"RFC7928-{n}" for n in range(1, 9)]
    for each in report.tables:
        assert all(len(row) == len(each.columns) for row in each.rows)
        assert len(each.rows) > 0
    assert len({each.name for each in report.tables}) == len(report.tables)
    for figure in report.figures:
        canvas = Figure(figsize=figure.size, layout="constrained")
        figure.draw(canvas)


def test_the_study_is_about_the_disciplines_it_is_given(tmp_path: Path) -> None:
    study = Rfc7928().with_schemes(parse("pi2", "droptail", "pi2", "ared:mean_packet=1500 B,ecn=true"))
    assert [scheme.label for scheme in study.schemes] == ["droptail", "pi2", "ared:mean_packet=1500 B,ecn=true"]
    report = dry(study, tmp_path)
    ids = [claim.id.removeprefix("RFC7928-") for claim, _ in report.findings]
    assert ids == ["1", "2", "4", "7", "8"], "what is expected of any; not what is said of CoDel, PIE and FQ-CoDel"
    ecn = next(claim for claim, _ in report.findings if claim.id == "RFC7928-7")
    assert {run.partition("/")[2] for run in runs_of(ecn.predicate)} == {"pi2"}
    assert study.options == ' --aqm pi2 --aqm droptail --aqm pi2 --aqm "ared:mean_packet=1500 B,ecn=true"'


def test_drop_tail_alone_is_characterised_without_a_claim(tmp_path: Path) -> None:
    report = dry(Rfc7928().with_schemes(parse("droptail")), tmp_path)
    assert report.findings == []
    assert not any("ECN" in str(row[0]) for each in report.tables for row in each.rows)


def test_a_law_of_ones_own_is_characterised(write: Write, tmp_path: Path) -> None:
    write(OWN)
    report = dry(Rfc7928().with_schemes(parse("my_module:Always")), tmp_path / "dry")
    assert len(report.findings) == 5
    tuning = next(each for each in report.tables if each.name == "tuning")
    assert {row[0] for row in tuning.rows} == {"droptail", "my_module:Always"}
    capacity, series = (next(each for each in report.tables if each.name == name) for name in ("capacity", "series"))
    assert {row[1] for row in capacity.rows} == {"droptail", "my_module:Always"}
    assert {(*row[:2],) for row in series.rows} == {("droptail", "droptail")}, "laws of one's own have one link"


def test_an_unknown_scheme_is_refused_in_one_line(aqmlab: Command) -> None:
    outcome = aqmlab("study", "rfc7928", "--aqm", "codle")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert "codle" in outcome.err
    assert "codel" in outcome.err


def test_a_study_of_named_schemes_refuses_others() -> None:
    with pytest.raises(SpecError, match=r"^--aqm: cannot be with rfc7928, which .* its paper, got codel$"):
        Study.with_schemes(Rfc7928(), parse("codel"))


def test_every_discipline_has_the_same_room_unless_it_is_given_one() -> None:
    study = Rfc7928().with_schemes(parse("codel", "pie:limit=50"))
    limits = {run.name: run.experiment.queue.parameters["limit"] for run in study.runs(study.lengths["quick"])}
    assert limits["medium/droptail"] == limits["medium/codel"] == "84 packets", "100 ms of 10 Mbit/s"
    assert limits["rtt-560/codel"] == "467 packets", "of the largest round trip"
    assert limits["capacity-slow/codel"] == limits["capacity-fast/codel"] == "834 packets", "of 100 Mbit/s"
    assert limits["series/codel"] == limits["lbe/codel"] == "84 packets"
    assert limits["lbe-deep/codel"] == limits["lbe-alone/codel"] == "334 packets", "four times as much"
    assert limits["medium/pie:limit=50"] == limits["rtt-560/pie:limit=50"] == 50


def test_fairness_runs_twice_as_long_and_varying_load_its_own_course() -> None:
    study = Rfc7928()
    length = study.lengths["default"]
    durations = {run.name: run.experiment.protocol.duration for run in study.runs(length)}
    assert durations["medium/codel"] == length.duration == "120 s"
    assert durations[f"{FAIRNESS[0].name}/codel"] == "240 s"
    assert durations["varying/codel"] == "100 s"


def test_the_course_of_the_load_fits_a_fair_share() -> None:
    bulks = [dict(source["bulk"]) for source in VARYING.sources]
    carried = [flows["flows"] * int(flows.get("bytes", "0").split()[0]) for flows in bulks]
    # 4 of 7 flows for 20 s, then 4 and 3 of 10: of what the link carries in 20 s.
    assert 8 * sum(carried) / 20 / 10e6 == pytest.approx((4 / 7 + 4 / 10 + 3 / 10) * 1448 / 1538, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("droptail", ["21 packets", "42 packets", "168 packets", "336 packets"]),
        ("codel", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
        ("pie:qdelay_ref=20 ms", ["5 ms", "10 ms", "40 ms", "80 ms"]),
        ("pi:q_ref=24", ["6", "12", "48", "96"]),
        ("red:min_th=7,max_th=21", ["2", "4", "14", "28"]),
        ("ared", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
        ("ared:min_th=12,max_th=36", ["3", "6", "24", "48"]),
        ("ared:max_th=36", ["9", "18", "72", "144"]),
        ("dualpi2", ["3.75 ms", "7.5 ms", "30 ms", "60 ms"]),
        ("ldc", ["1.25 ms", "2.5 ms", "10 ms", "20 ms"]),
    ],
)
def test_the_main_parameter_is_multiplied(text: str, values: Sequence[str]) -> None:
    found = variants(schemes.parse(text), 84)
    assert [variant.value for variant in found] == values
    assert all(variant.scheme.queue.parameters["limit"] for variant in found)


def test_both_thresholds_are_multiplied() -> None:
    (parameters,) = (
        each.scheme.queue.parameters
        for each in variants(schemes.parse("red:min_th=7,max_th=21"), 84)
        if each.factor == 2
    )
    assert (parameters["min_th"], parameters["max_th"]) == (14, 42)


def test_marks_are_another_experiment_but_under_drop_tail_or_where_they_are_asked_for() -> None:
    assert [can_mark(scheme) for scheme in parse("codel", "droptail:limit=20", "pie:ecn=true", "pie:ecn=off")] == [
        True,
        False,
        False,
        False,
    ]


def test_measures_are_those_of_the_measured_window_and_the_direction_of_the_data(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s", "device_fifo": 0},
        queue={"droptail": {"limit": 84}},
        users={"per_side": 0},
        sources=[{"bulk": {"name": "long", "flows": 1, "rtt": {"fixed": "100 ms"}}}],
        # Without timestamps nothing of the slow start's losses is taken for spurious.
        tcp={"profile": "linux-6", "congestion": "reno", "hystart": False, "timestamps": False},
        protocol={"warmup": "4 s", "duration": "6 s"},
    )
    result = lab.run(experiment, out=tmp_path)
    delays, rates = measures.slices(result)
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


def test_the_queueing_delay_is_the_time_that_the_link_takes_to_send_what_waits(tmp_path: Path) -> None:
    study = Rfc7928()
    (cell,) = study_cells(study, study.lengths["quick"].repeated(range(1, 2)), {})["medium/codel"]
    # 9 to 11 packets of 1,500 bytes, which take 1,538 on the wire, at 10 Mbit/s.
    result = written(tmp_path / "cell", cell)
    assert measures.delay_ms(result) == pytest.approx(10 * 1.2304, rel=0.005)
    assert measures.delay_p99_ms(result) == pytest.approx(11 * 1.2304)
    # Up by one, up by one, down by two.
    assert measures.jitter_ms(result) == pytest.approx(4 / 3 * 1.2304, rel=0.01)
    assert (kit.data_loss_percent(result), kit.data_mark_percent(result)) == (1, 2)


def cell_of(run: str) -> Cell:
    study = Rfc7928()
    (cell,) = study_cells(study, study.lengths["quick"].repeated(range(1, 2)), {})[run]
    return cell


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


def test_a_flow_through_both_links_has_two_beside_it_at_each() -> None:
    flows = {name: source["path"] for name, source in bulks("series").items()}
    assert flows == {"through": [1, 3], "first": [2, 3], "second": [1, 2]}, "data come from the higher router"
    assert len(cell_of("series/codel").resolved["chain"]) == 2


def bulks(scenario: str) -> dict[str, Any]:
    sources = [source["bulk"] for source in cell_of(f"{scenario}/codel").resolved["sources"]]
    return {source["name"]: source for source in sources}


@pytest.mark.parametrize(("schedule", "every_s", "changes"), [("slow", 20, 4), ("fast", 0.1, 999)])
def test_the_capacity_is_every_other_time_a_tenth(schedule: str, every_s: float, changes: int) -> None:
    link = cell_of(f"capacity-{schedule}/codel").resolved["link"]
    times = [seconds(change["at"]) for change in link["rate_changes"]]
    assert times == pytest.approx([every_s * n for n in range(1, changes + 1)])
    rates = [link["rate"], *(change["rate"] for change in link["rate_changes"])]
    assert set(rates[::2]) == {"100 Mbit/s"}
    assert set(rates[1::2]) == {"10 Mbit/s"}


def test_cubic_is_the_stack_of_its_own_source_alone() -> None:
    tcp = cell_of("cubic-reno/codel").resolved["tcp"]
    (other,) = tcp["mix"]
    assert (tcp["congestion"], tcp["hystart"]) == ("reno", False)
    assert (other["source"], other["share"]) == ("cubic", 1)
    assert (other["congestion"], other["hystart"]) == ("cubic", True)
    assert list(bulks("cubic-reno")) == ["long", "cubic"]


def test_the_levels_are_those_of_the_rfc_in_order() -> None:
    assert [level.section for level in LEVELS] == ["8.2.2", "8.2.3", "8.2.4"]
    assert [len(case.sources) for case in BURSTS] == [2, 3, 3, 4]


def test_different_disciplines_in_series_stand_in_the_order_in_which_data_meet_them() -> None:
    found = [(pair.first.label, pair.second.label) for pair in pairs(parse("droptail", "codel", "pie", "red"))]
    assert found[:4] == [(label, label) for label in ("droptail", "codel", "pie", "red")]
    assert ("codel", "droptail") in found
    assert ("droptail", "red") in found
    assert found[-3:] == [("codel", "pie"), ("pie", "red"), ("red", "codel")], "each with the next"
    assert len(found) == len(set(found)) == 4 + 2 * 3 + 3
    assert len(pairs(parse("droptail", "codel"))) == 4, "alone it has no next"
    lower, upper = cell_of("series/codel, then droptail").resolved["chain"]
    assert lower["queue"] == {"droptail": {"limit": "84 packets"}}, "the second: data come from the higher router"
    assert list(upper["queue"]) == ["codel"]
    assert upper["queue"]["codel"]["limit"] == "84 packets"


def test_ledbat_is_the_stack_of_its_own_source_alone() -> None:
    for scenario in ("lbe", "lbe-deep"):
        tcp = cell_of(f"{scenario}/codel").resolved["tcp"]
        (other,) = tcp["mix"]
        assert (tcp["congestion"], other["congestion"]) == ("reno", "ledbat")
        assert (other["source"], other["share"]) == ("background", 1)
        assert list(bulks(scenario)) == ["long", "background"]
    assert list(bulks("lbe-alone")) == ["background"]


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
    (told,) = (each for each in report.tables if each.name == "losses")
    assert all(row[-1] is None for row in told.rows)
    (figure,) = (each for each in report.figures if each.name == "losses")
    figure.draw(Figure(layout="constrained"))


def test_start_up_time_is_that_of_one_segment_and_counts_handshakes_that_lost_one(tmp_path: Path) -> None:
    cell = cell_of("start-up/codel")
    first = next(source["transfers"] for source in cell.resolved["sources"] if "transfers" in source)
    assert first["size"] == {"fixed": "1000 B"}, "less than the 1,448 bytes of a segment"
    assert measures.handshake_loss_percent(written(tmp_path / "cell", cell)) == 50


def test_losses_are_recorded_for_the_levels_of_congestion_as_the_link_counts_them(tmp_path: Path) -> None:
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
