"""Figures of calibrations, disciplines, rules and models: of what is known without a comparison."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from aqmlab.calibration import plot as calibration_plot
from aqmlab.cells.calibration_model import Calibration
from aqmlab.design import plot as design_plot
from aqmlab.design.control import Loop
from aqmlab.disciplines import plot as discipline_plot
from aqmlab.disciplines.step import Load
from aqmlab.models import plot as queue_plot


def test_a_calibration_shows_its_points_and_the_published_one(axis: Axes) -> None:
    fitted = Calibration(
        workload="unc-2001",
        rtt="uniform",
        mbps_per_user=0.01,
        r_squared=0.999,
        users_per_side=(5000, 15000),
        throughput_mbps=(50.0, 150.0),
        engine="a test",
    )
    calibration_plot.line(axis, fitted)
    assert [text.get_text() for text in axis.texts] == ["100 Mbit/s: 10,000", "published: 9,520"]


def answer(**variables: float) -> pl.DataFrame:
    time_s = [tenth / 10 for tenth in range(1, 101)]
    varying = {name: [value * time for time in time_s] for name, value in variables.items()}
    return pl.DataFrame(
        {"time_s": time_s, "delay_ms": [5.0] * 100, "arrived": [100] * 100, "dropped": [1] * 100, "marked": [2] * 100}
        | varying
    )


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, None),
        ({"count": 0.0}, None),
        ({"price": 0.1, "p": 0.01}, "p"),
        ({"avg": 1.0, "p_b": 0.01, "max_p": 0.1}, "p_b"),
        ({"new_flows": 0.0, "old_flows": 1.0}, "old_flows"),
    ],
)
def test_a_step_response_plots_probability_or_another_variable(variables: dict[str, float], shown: str | None) -> None:
    figure = Figure()
    discipline_plot.step_response(figure, answer(**variables), Load(up_s=2, down_s=8, end_s=10), title="a title")
    assert [axis.get_ylabel() for axis in figure.axes][2:] == ([] if shown is None else [shown])


def test_a_step_response_shows_shares_dropped_and_signalled() -> None:
    figure = Figure()
    discipline_plot.step_response(figure, answer(), Load(up_s=2, down_s=8, end_s=10), title="a title")
    dropped, signalled = (patch.get_data()[0] for patch in figure.axes[1].patches if isinstance(patch, StepPatch))
    assert dropped.tolist() == [1.0] * 10
    assert signalled.tolist() == [3.0] * 10


def test_a_pi_loop_shows_its_margins() -> None:
    figure = Figure()
    loop = Loop(packets_per_sec=3750, flows=60, rtt_s=0.246, gain=9.64e-6, zero=0.53)
    design_plot.pi_loop(figure, loop, title="a title")
    titles = {axis.get_title(loc="right") for axis in figure.axes}
    assert titles == {"gain margin 18.9 dB", "phase margin 75.3°", "the reference rises by 1 packet"}


def tail(mean: float, *, noisy: float = 0.0) -> pl.DataFrame:
    packets = np.arange(0, 60, 10 if noisy else 1)
    above = np.exp(-packets / mean)
    return pl.DataFrame(
        {"packets": packets, "above": above, "low": above * (1 - noisy), "high": above * (1 + noisy)}
    ).with_columns(utilisation=pl.col("packets") / 60)


def test_simulated_points_have_the_colour_of_their_models_line(axis: Axes) -> None:
    curves = {"80 %": tail(5), "90 %": tail(10)}
    queue_plot.exceedance(axis, curves, simulated={"90 %": tail(9, noisy=0.3)})
    point_artist, model = sorted(axis.get_lines(), key=lambda line: str(line.get_label()))
    points, bars = axis.collections
    colour = to_rgba(str(model.get_color()))
    assert {tuple(c) for c in (*points.get_facecolor(), *bars.get_edgecolor())} == {colour}
    assert point_artist.get_color() != model.get_color()
    packets = np.arange(0, 60, 10)
    expected = np.column_stack((100 / 60 * packets, 100 * np.exp(-packets / 9)))
    assert np.asarray(points.get_offsets()) == pytest.approx(expected)
    assert isinstance(bars, LineCollection)
    for (x, share), bar in zip(expected, bars.get_segments(), strict=True):
        assert np.asarray(bar) == pytest.approx(np.array([[x, 0.7 * share], [x, 1.3 * share]]))
    legend = axis.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2, "points need no entry of their own"


def test_a_model_alone_says_nothing_of_a_simulation(axis: Axes) -> None:
    queue_plot.exceedance(axis, {"80 %": tail(5)}, simulated={})
    assert not axis.collections
    assert axis.get_title(loc="right") == ""
