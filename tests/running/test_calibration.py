from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.calibration.measure import USERS_PER_SIDE, calibration_cells, fit_calibration, user_counts
from aqmlab.cells import calibration_model
from aqmlab.cells.calibration_model import Calibration
from aqmlab.cells.cell import cells_of
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store


def line(**changes: object) -> Calibration:
    fields: dict[str, object] = {
        "workload": "unc-2001-v3",
        "rtt": "uniform",
        "mbps_per_user": 0.01,
        "r_squared": 0.999,
        "users_per_side": (5000, 10000),
        "throughput_mbps": (50.0, 100.0),
        "engine": "a test",
    }
    return Calibration.model_validate(fields | changes)


@given(st.floats(1e-4, 1), st.integers(0, 1000))
def test_the_fit_finds_a_line_through_the_origin(slope: float, seed: int) -> None:
    users = np.array(USERS_PER_SIDE)
    noise = np.random.default_rng(seed).normal(1, 0.01, len(users))
    fit_calibration, r_squared = calibration_model.fit(users, slope * users * noise)
    assert fit_calibration == pytest.approx(np.linalg.lstsq(users[:, None], slope * users * noise, rcond=None)[0][0])
    assert fit_calibration == pytest.approx(slope, rel=0.03)
    assert 0.98 < r_squared <= 1


def test_a_load_means_per_cent_of_the_links_rate() -> None:
    assert line().users(98, 100e6) == 9800
    assert line().users(98, 1e9) == 98000
    assert line().users(98, 10e6) == 980


@given(st.floats(0.5, 200))
def test_users_and_load_are_inverse(load: float) -> None:
    assert line().load_percent(line().users(load, 1e9), 1e9) == pytest.approx(load, abs=0.001)


@pytest.mark.parametrize(("rtt", "within"), [("uniform", 0.013), ("general", 0.021)])
@pytest.mark.parametrize("workload", ["unc-2001", "unc-2001-v3"])
def test_the_shipped_calibrations_are_near_the_published_users(workload: str, rtt: str, within: float) -> None:
    shipped = calibration_model.load_calibrations()[workload, rtt, 2]
    assert shipped.users(100, 100e6) == pytest.approx(calibration_model.PUBLISHED_USERS[rtt], rel=within)


@pytest.mark.parametrize("sides", [1, 2])
def test_the_users_of_today_have_shipped_calibrations(sides: int) -> None:
    shipped = calibration_model.load_calibrations()["web-2024", "uniform", sides]
    assert shipped.r_squared > 0.999
    cells = cells_of(
        lab.Experiment(users={"load": 90, "workload": "web-2024", "sides": sides}), [1], {shipped.key: shipped}
    )
    assert cells[0].users_per_side == shipped.users(90, 100e6)
    assert shipped.published_users is None


def test_a_local_calibration_joins_others_and_precedes_shipped(tmp_path: Path) -> None:
    calibration_model.store(line(rtt="general"), tmp_path)
    calibration_model.store(line(), tmp_path)
    calibration_model.store(line(workload="ours"), tmp_path)
    calibrations = calibration_model.load_calibrations(tmp_path)
    assert calibrations["unc-2001-v3", "uniform", 2] == line()
    assert calibrations["unc-2001-v3", "general", 2] == line(rtt="general")
    assert calibrations["ours", "uniform", 2] == line(workload="ours")
    assert calibration_model.load_calibrations() != calibrations


def test_a_load_becomes_a_number_of_users() -> None:
    known = {("unc-2001-v3", "uniform", 2): line()}
    (cell,) = cells_of(lab.Experiment(users={"load": 90}), [1], known)
    assert (cell.users_per_side, cell.load_percent) == (9000, 90)
    (cell,) = cells_of(lab.Experiment(users={"per_side": 9800}), [1], known)
    assert cell.users_per_side == 9800
    assert cell.load_percent == pytest.approx(98)


def test_the_load_of_users_on_one_side_is_that_of_their_data() -> None:
    users = {"load": 90, "sides": 1}
    with pytest.raises(lab.SpecError, match=r"and users on one side has no calibration: run .* --sides 1 or give"):
        cells_of(lab.Experiment(users=users), [1], {("unc-2001-v3", "uniform", 2): line()})
    known = {("unc-2001-v3", "uniform", sides): line(sides=sides, mbps_per_user=0.01 / sides) for sides in (1, 2)}
    (cell,) = cells_of(lab.Experiment(users=users), [1], known)
    assert cell.users_per_side == 9000
    assert "9,000 users at side 0" in str(cell)


def test_users_on_one_side_are_calibrated_where_their_data_flow(tmp_path: Path) -> None:
    experiment = lab.Experiment(users={"sides": 1}, protocol={"warmup": "1 s", "duration": "5 s"})
    cells = calibration_cells(experiment, [1], user_counts(500))
    results = [run_cell(cell, Store(tmp_path)) for cell in cells]
    fitted_line = fit_calibration(experiment, results)
    assert fitted_line.key == ("unc-2001-v3", "uniform", 1)
    back = [result.summary["directions"][1]["throughput_mbps"] for result in results]
    assert fitted_line.throughput_mbps == tuple(back)
    assert all(
        result.summary["directions"][0]["throughput_mbps"] < 0.6 * data
        for result, data in zip(results, back, strict=True)
    )


def test_a_load_without_a_calibration_is_refused() -> None:
    with pytest.raises(
        lab.SpecError, match=r"^users\.load: the workload unc-2001-v3 with .* has no calibration: .* got 98"
    ):
        cells_of(lab.Experiment(testbed="unc-2003"), [1])


def test_a_number_of_users_needs_no_calibration() -> None:
    first, second = cells_of(lab.Experiment(users={"per_side": 10}), [1, 2])
    assert (first.users_per_side, first.load_percent) == (10, None)
    assert (first.spec, first.seed, second.seed) == (second.spec, 1, 2)
