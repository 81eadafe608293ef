from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure as Canvas

import fixtures.results
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell
from aqmlab.results.cells import comparison_cells
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.studies import find
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import Study, study_cells
from aqmlab.studies.le.hurst import HurstWithin, estimates
from aqmlab.studies.le.measures import average_percent, rise_percent
from aqmlab.studies.le.published import Published
from aqmlab.studies.le.schemes import BASE, LENGTHS, PI_24, TESTBED, UNCONGESTED, PaperScheme, ared, droptail, pi, rem
from aqmlab.studies.le.tables import compare_published, per_90_minutes
from aqmlab.studies.le.workload import Quantiles, share_above
from fixtures.study import check

STUDIES = ("le2003", "le2004")


@pytest.fixture(params=STUDIES)
def study(request: pytest.FixtureRequest) -> Study:
    return find(str(request.param))


Bin = tuple[float, float, int, int]
"""Range of times in ms, range of sizes in bytes, and the number of responses."""


def written(
    directory: Path,
    *,
    loss: float = 1.0,
    completed: int = 3_000_000,
    throughput: float = 90.0,
    bins: Iterable[Bin] = ((100.0, 300.0, 64, 1000),),
) -> Path:
    """Results as the store has them."""
    summary = {"loss_percent": loss, "completed_requests": completed, "throughput_mbps": throughput}
    times = {"p50": 100.0, "p90": 200.0}
    columns = ("time_low_ms", "time_high_ms", "size_high_bytes", "count")
    histogram = pl.DataFrame(list(bins), schema=columns, orient="row").with_columns(
        size_low_bytes=pl.col("size_high_bytes") // 2
    )
    return fixtures.results.write(directory, summary={**summary, "response_time_ms": times}, response_times=histogram)


def in_20_minutes(seed: int) -> Cell:
    spec = fixtures.results.resolved(protocol={"duration": "1200 s"})
    return Cell(label="made", signal="drop", load_percent=98, users_per_side=1, spec=spec, seed=seed, experiment="")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One result for all runs, with what those have that are written down in detail."""
    bins = ((20.0, 30.0, 64, 500), (100.0, 300.0, 64, 1000), (2_000.0, 60_000.0, 65_536, 10))
    directory = written(tmp_path_factory.mktemp("made"), bins=bins)
    random = np.random.default_rng(1)
    link = {name: random.poisson(100.0, 20_000) for name in ("packets", "bytes")}
    exchanges = {
        "response_time_ms": random.uniform(20, 5_000, 1_000),
        "response_bytes": random.integers(100, 100_000, 1_000),
        "first_on_connection": True,
        "persistent": False,
    }
    zeros = np.zeros(20_000, dtype=np.uint8)
    return fixtures.results.write(
        directory, link=pl.DataFrame({"direction": zeros, **link}), exchanges=pl.DataFrame(exchanges)
    )


def all_alike(study: Study, directory: Path) -> dict[str, list[Result]]:
    cells = study_cells(study, LENGTHS["quick"], load_calibrations())
    return {name: [Result(cell, directory) for cell in some] for name, some in cells.items()}


def test_lengths_have_the_same_runs_and_differ_in_time_alone(study: Study) -> None:
    lengths = {name: study_cells(study, length, load_calibrations()) for name, length in study.lengths.items()}
    assert list(lengths) == ["quick", "default", "full"]
    assert lengths["quick"].keys() == lengths["default"].keys() == lengths["full"].keys()
    keys = Counter(cell.key for cells in lengths.values() for some in cells.values() for cell in some)
    assert set(keys.values()) == {1}, "no experiment is there twice"
    times = {name: (length.warmup, length.duration, length.seeds) for name, length in study.lengths.items()}
    assert times["default"] == ("3 min", "20 min", 3)
    assert times["full"] == ("15 min", "90 min", 3)


@pytest.mark.parametrize(
    ("scheme", "label", "queue", "ecn"),
    [
        (droptail(2400), "drop-tail 2,400", {"droptail": {"limit": 2400}}, False),
        (pi(24), "PI 24", {"pi": {"q_ref": 24, "mode": "byte"}}, False),
        (rem(240, ecn=True), "REM 240, ECN", {"rem": {"q_ref": 240, "tau": "1 ms", "mode": "byte"}}, True),
        (
            ared(12, w_q="1/1024"),
            "ARED 12/36, weight 1/1024",
            {"ared": {"min_th": 12, "max_th": 36, "w_q": 1 / 1024, "mode": "packet"}},
            False,
        ),
        (
            ared(120, mode="byte", signal="ecn"),
            "ARED 120/360 byte mode, ECN",
            {"ared": {"min_th": 120, "max_th": 360, "w_q": 1 / 8192, "mode": "byte"}},
            True,
        ),
        (
            ared(12, signal="new gentle"),
            "ARED 12/36, ECN new gentle",
            {
                "ared": {
                    "min_th": 12,
                    "max_th": 36,
                    "w_q": 1 / 8192,
                    "mode": "packet",
                    "ecn_policy": "mark_in_gentle",
                }
            },
            True,
        ),
    ],
)
def test_a_scheme_is_what_its_label_says(scheme: PaperScheme, label: str, queue: dict[str, object], ecn: bool) -> None:
    experiment = scheme.run(98, LENGTHS["quick"]).experiment
    assert scheme.label == label
    assert experiment.queue.model_dump() == queue
    assert experiment.tcp.ecn is ecn


def test_a_run_is_the_cell_that_a_comparison_makes() -> None:
    length = LENGTHS["default"]
    ours = study_cells(find("le2003"), length, load_calibrations())
    experiment = Experiment(testbed="unc-2003", link=TESTBED, users={"load": 98}, protocol=length.protocol)
    theirs = comparison_cells([BASE.text, PI_24.text], experiment, [1, 2, 3], load_calibrations())
    cells = [cell for scheme in (UNCONGESTED, BASE, PI_24) for cell in ours[scheme.at(98)]]
    assert [cell.key for cell in cells] == [cell.key for cell in theirs]


def test_each_published_row_stands_beside_a_run(study: Study, everything: Path) -> None:
    text = (resources.files("aqmlab") / "studies/le/published.csv").read_text()
    published = [row for row in csv.DictReader(text.splitlines()) if row["table"].startswith(study.name)]
    results = all_alike(study, everything)
    rows = [row for table in study.tables(results) if table.name.startswith("table") for row in table.rows]
    shown = {(row[0], row[1], row[3], row[6], row[9]): row for row in rows if row[3] is not None}
    wanted = {
        (
            int(row["load_percent"]),
            row["scheme"],
            float(row["loss_percent"]),
            float(row["completed_millions"]),
            float(row["throughput_mbps"]),
        )
        for row in published
    }
    assert shown.keys() == wanted
    left_out = [row for row in rows if row[3] is None]
    assert all(row[6] is None and row[9] is None and row[11] == "" for row in left_out)
    assert {row[0] for row in left_out} == ({105} if study.name == "le2003" else {90, 98})


def test_tables_are_complete_and_figures_can_be_drawn(study: Study, everything: Path) -> None:
    check(Report.from_results(study, LENGTHS["quick"], all_alike(study, everything)))


def test_figures_with_general_rtts_have_table_4s_thresholds(everything: Path) -> None:
    study = find("le2004")
    shown = set()
    for figure in study.figures(all_alike(study, everything)):
        if figure.name in ("fig25-26", "fig27-28"):
            canvas = Canvas(figsize=figure.size)
            figure.draw(canvas)
            shown |= {str(line.get_label()) for axis in canvas.axes for line in axis.get_lines()}
    (published,) = {row.scheme for row in Published.read().rows if row.table == "le2004-t4" and "ared" in row.scheme}
    dropping, marking = ared(120), ared(120, signal="new gentle")
    assert dropping.text == published
    packet_mode = {label for label in shown if label.startswith("ARED") and "byte mode" not in label}
    assert packet_mode == {dropping.label, marking.label}


def test_our_requests_are_scaled_to_90_minutes(tmp_path: Path) -> None:
    rows = ((7.5, 3_000_000, 90.0), (8.5, 3_400_000, 91.0))
    ours = [
        Result(
            in_20_minutes(seed), written(tmp_path / str(seed), loss=loss, completed=completed, throughput=throughput)
        )
        for seed, (loss, completed, throughput) in enumerate(rows)
    ]
    results = {droptail(240).at(98): ours}
    table = compare_published(
        results, name="t", title="T", rows_of="le2003-t2", schemes=[droptail(240)], loads=[90, 98]
    )
    ((load, scheme, *numbers, outside),) = table.rows
    assert (load, scheme) == (98, "droptail:limit=240")
    assert numbers == [8.0, 6.0, 2.0, 14.4, 15.1, -4.64, 90.5, 92.0, -1.5]
    assert outside == "loss, completed"
    assert per_90_minutes(ours[0]) == 4.5 * 3e6


def test_an_average_share_is_the_area_under_the_curve(tmp_path: Path) -> None:
    # Answered between 100 and 300 ms, evenly: the share averaged over 0 to 400 ms is one half.
    result = Result(in_20_minutes(1), written(tmp_path / "short"))
    assert average_percent(0.0, 400.0)(result) == pytest.approx(50, abs=0.01)
    assert rise_percent(150.0, 250.0)(result) == pytest.approx(50)
    both = ((100.0, 300.0, 64, 1000), (1000.0, 2000.0, 65536, 1000))
    with_long = Result(in_20_minutes(1), written(tmp_path / "long", bins=both))
    assert rise_percent(150.0, 250.0)(with_long) == pytest.approx(25)
    assert rise_percent(150.0, 250.0, below_bytes=8192)(with_long) == pytest.approx(50)


def test_the_hurst_parameter_uses_milliseconds_of_one_direction(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).poisson(100.0, (2, 20_000))
    frames = [
        pl.DataFrame({"direction": np.full(20_000, n, dtype=np.uint8), "packets": noise[0], "bytes": 500 * noise[0]})
        for n in (0, 1)
    ]
    # The other direction would be another H.
    frames[1] = frames[1].with_columns(packets=pl.Series(np.cumsum(noise[1])))
    pl.concat(frames).write_parquet(tmp_path / "link.parquet")
    result = Result(in_20_minutes(1), tmp_path)
    found = estimates(result)
    assert [(series, hurst.method) for series, hurst in found] == [
        (series, method)
        for series in ("packets", "bytes")
        for method in ("aggregated variance", "local Whittle", "wavelet")
    ]
    assert all(abs(hurst.h - 0.5) < 0.15 for _, hurst in found)
    results = {"calm": [result]}
    assert HurstWithin(run="calm", low=0.3, high=0.9)(results).outcome == "holds"
    assert HurstWithin(run="calm", low=0.8, high=0.9)(results).outcome == "fails"
    assert HurstWithin(run="calm", low=0.5, high=0.9)(results).outcome == "undecided"
    assert estimates(result, (1_000, 50_000)) == [], "the series is too short for these"


def test_quantiles_are_interpolated_like_the_workload() -> None:
    # A Pareto piece of index 2 from 10 to 100: (10/x)^2
    quantiles = Quantiles([[0.0, 10.0], [0.99, 100.0]])
    values = np.array([5.0, 10.0, 20.0, 50.0, 99.999, 100.0, 1000.0])
    assert quantiles.share_above(values) == pytest.approx([1, 1, 0.25, 0.04, 0.01, 0, 0], rel=1e-4)
    assert share_above(np.array([1.0, 2.0, 2.0, 4.0]), np.array([0.0, 2.0, 3.0, 4.0])).tolist() == [1, 0.25, 0.25, 0]
