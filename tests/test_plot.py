from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aqmlab import plot
from aqmlab.calibration import Calibration


@pytest.fixture
def axis() -> Axes:
    return Figure().subplots()


def curve(median_ms: float) -> pl.DataFrame:
    time_ms = np.geomspace(1, 1e5, 400)
    return pl.DataFrame({"time_ms": time_ms, "fraction": 1 / (1 + (median_ms / time_ms) ** 2)})


CURVES = {"uncongested": curve(100), "droptail": curve(400), "pi": curve(150), "rem": curve(200)}


@pytest.mark.parametrize("draw", [plot.response_time_cdf, plot.response_time_ccdf])
def test_labels_stand_in_the_order_of_their_lines(draw: object, axis: Axes) -> None:
    assert callable(draw)
    draw(axis, CURVES, baseline="uncongested")
    legend = axis.get_legend()
    assert legend is not None
    fast_to_slow = ["uncongested", "pi", "rem", "droptail"]
    down = fast_to_slow if draw is plot.response_time_cdf else fast_to_slow[::-1]
    assert [text.get_text() for text in legend.get_texts()] == down


def test_the_baseline_is_a_thin_black_line_and_the_rest_differ(axis: Axes) -> None:
    many = {"uncongested": curve(100)} | {f"scheme {index}": curve(100 + 10 * index) for index in range(12)}
    plot.response_time_cdf(axis, many, baseline="uncongested")
    baseline, *others = axis.get_lines()
    assert baseline.get_color() == "black"
    assert all(baseline.get_linewidth() < line.get_linewidth() for line in others)
    assert len({(line.get_color(), line.get_linestyle()) for line in others}) == len(others)


def test_the_same_data_give_the_same_files(tmp_path: Path) -> None:
    def save(stem: str) -> list[Path]:
        return plot.save(
            tmp_path / stem, lambda axis: plot.response_time_cdf(axis, CURVES, baseline="uncongested"), title="a title"
        )

    for first, again in zip(save("first"), save("again"), strict=True):
        assert first.read_bytes() == again.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.png", "again.svg", "first.png", "first.svg"]


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
    plot.calibration(axis, fitted)
    assert [text.get_text() for text in axis.texts] == ["100 Mbit/s: 10,000", "published: 9,520"]
