from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

import aqmlab as lab
from aqmlab import plot as own
from aqmlab import stats
from aqmlab.results.figures import plot
from aqmlab.results.figures.charts import CCDF, CDF, Lines
from aqmlab.ui import canvas
from aqmlab.ui.canvas import LineStyles, label_lines


def curve(median_ms: float) -> pl.DataFrame:
    time_ms = np.geomspace(1, 1e5, 400)
    return pl.DataFrame({"time_ms": time_ms, "fraction": 1 / (1 + (median_ms / time_ms) ** 2)})


def heights(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


EMPTY = pl.DataFrame(schema={"time_low_ms": pl.Float64, "time_high_ms": pl.Float64, "count": pl.UInt64})
"""A histogram of no response times."""

CURVES = {"uncongested": curve(100), "droptail": curve(400), "pi": curve(150), "rem": curve(200)}


def styles(labels: Iterable[str], baseline: str = "uncongested") -> LineStyles:
    line_styles = LineStyles(baseline)
    line_styles.share_styles(labels)
    return line_styles


@pytest.mark.parametrize("chart", [CDF, CCDF])
def test_labels_stand_in_the_order_of_their_lines(chart: Lines, axis: Axes) -> None:
    label_lines(plot.lines(axis, chart, CURVES, styles(CURVES)))
    legend = axis.get_legend()
    assert legend is not None
    fast_to_slow = ["uncongested", "pi", "rem", "droptail"]
    down = fast_to_slow if chart is CDF else fast_to_slow[::-1]
    assert [text.get_text() for text in legend.get_texts()] == down


def test_a_difference_lies_within_its_band_beside_nought(axis: Axes) -> None:
    times = np.geomspace(10, 1000, 20)
    band = pl.DataFrame(
        {"time_ms": times, "difference": np.full(20, 0.1), "low": np.full(20, -3), "high": np.full(20, 3)}
    )
    axis_drawn = plot.difference(axis, {"pi": band}, styles(["droptail", "pi"]), "droptail")
    first, line = axis_drawn.get_lines()
    assert (first.get_label(), set(np.asarray(first.get_ydata()))) == ("droptail", {0})
    assert np.asarray(line.get_ydata()) == pytest.approx(10)
    assert len(axis_drawn.collections) == 1
    # A band of few seeds is wider than any difference can be.
    assert axis_drawn.get_ylim() == (-100, 100)


def test_the_baseline_is_a_thin_black_line_and_the_rest_differ(axis: Axes) -> None:
    curves = {"uncongested": curve(100)} | {f"scheme {index}": curve(100 + 10 * index) for index in range(12)}
    label_lines(plot.lines(axis, CDF, curves, styles(curves)))
    baseline, *scheme_lines = axis.get_lines()
    assert baseline.get_color() == "black"
    assert all(baseline.get_linewidth() < line.get_linewidth() for line in scheme_lines)
    assert len({(line.get_color(), dashes(line)) for line in scheme_lines}) == len(scheme_lines)


def dashes(line: Line2D) -> tuple[float, ...]:
    """Return the lengths of a line's dashes and gaps in points; none of a solid one."""
    _, pattern = line._dash_pattern  # type: ignore[attr-defined]
    return tuple(pattern or ())


def test_six_lines_differ_by_more_than_their_colours(axis: Axes) -> None:
    seven = {f"scheme {index}": curve(100 + 10 * index) for index in range(7)}
    label_lines(plot.lines(axis, CDF, seven, styles(seven, baseline="scheme 0")))
    patterns = {tuple(np.round(np.array(dashes(line)) / line.get_linewidth(), 3)) for line in axis.get_lines()[1:]}
    assert len(patterns) == 6


def test_a_scheme_has_one_distinct_style_in_all_figures() -> None:
    figures = [("pi", "pi+"), ("rem", "rem+"), ("pi+", "rem+", "ared", "red", "codel", "pie"), ("pi", "rem", "fred")]
    all_styles = LineStyles("uncongested")
    for labels in figures:
        all_styles.share_styles(["uncongested", *labels])
    for labels in figures:
        assert len({all_styles[label]["color"] for label in labels}) == len(labels)
        assert len({str(all_styles[label]["linestyle"]) for label in labels}) == len(labels)
    assert len({str(all_styles[label]) for labels in figures for label in labels}) == 9


@pytest.mark.parametrize("drawn", [("pi", "rem"), ("rem", "pi")])
def test_of_two_lines_that_coincide_both_are_seen(drawn: tuple[str, str], tmp_path: Path) -> None:
    """PI with ECN lay hidden behind REM with ECN in a published figure."""
    lines: list[Line2D] = []

    def draw(axis: Axes) -> Axes:
        curves = {"baseline": curve(1)} | {name: curve(150) for name in drawn}
        label_lines(plot.lines(axis, CDF, curves, styles(("pi", "rem"), baseline="baseline")))
        lines.extend(axis.get_lines()[1:])
        return axis

    *_, png = canvas.save(tmp_path / "figure", draw, title="a title")
    pixels = (255 * plt.imread(png)[..., :3]).round().astype(int)
    for line in lines:
        colour = (255 * np.array(to_rgba(line.get_color())[:3])).round()
        pixel_count = (np.abs(pixels - colour).max(axis=-1) < 8).sum()
        legend_and_name = 1500
        assert pixel_count > legend_and_name, line.get_label()


def test_numbers_are_written_alike_on_all_axes(tmp_path: Path) -> None:
    texts: list[str] = []

    def draw(axis: Axes) -> Axes:
        axis.plot([1, 20_000], [0.001, 5_000])
        axis.set(yscale="log", ylim=(0.001, 10_000))
        return axis

    def draw_and_read(figure: Figure) -> None:
        axes.append(draw(figure.subplots()))

    axes: list[Axes] = []
    canvas.write(tmp_path / "figure.svg", draw_and_read)
    (axis,) = axes
    texts = [label.get_text() for label in (*axis.get_xticklabels(), *axis.get_yticklabels())]
    assert {"10,000", "1,000", "0.001"} <= set(texts)
    assert not any("$" in text or "e" in text for text in texts)


def test_text_in_a_figure_is_text(tmp_path: Path) -> None:
    svg, _ = canvas.save(
        tmp_path / "figure", lambda axis: label_lines(plot.lines(axis, CDF, CURVES, styles(CURVES))), title="a title"
    )
    words = re.findall(r"<text[^>]*>([^<]+)</text>", svg.read_text())
    assert {"a title", "droptail", "response time, ms"} <= set(words)


def test_names_stand_at_the_right_of_an_axis_and_of_panels(tmp_path: Path) -> None:
    calls: list[tuple[Figure, Axes, Legend]] = []

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        (line,) = right.plot([1, 2], label="both have it")
        left.plot([2, 1])
        canvas.legend_right(figure, [line])
        calls.append((figure, right, figure.legends[0]))

    canvas.write(tmp_path / "figure.svg", draw)
    ((figure, axis, legend),) = calls
    figure.draw_without_rendering()
    assert legend.get_window_extent().x0 >= axis.get_window_extent().x1
    axis, legend = drawn(["pi"], tmp_path)
    assert legend.get_window_extent().x0 >= axis.get_window_extent().x1


@pytest.mark.parametrize("chart", [CDF, CCDF])
@pytest.mark.parametrize("other_curves", [{}, {"pi": curve(150)}])
def test_a_figure_says_where_no_requests_were_completed(
    chart: Lines, other_curves: dict[str, pl.DataFrame], tmp_path: Path, axis: Axes
) -> None:
    curves = {"droptail": stats.cdf(EMPTY), **other_curves}
    label_lines(plot.lines(axis, chart, curves, styles(curves)))
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [*other_curves, "droptail: no requests completed"]
    assert all(
        file.stat().st_size > 0
        for file in canvas.save(tmp_path / "a", lambda it: plot.lines(it, chart, curves, styles(curves)), title="a")
    )


def test_the_same_data_give_the_same_files(tmp_path: Path) -> None:
    def save(stem: str) -> list[Path]:
        return canvas.save(
            tmp_path / stem, lambda axis: label_lines(plot.lines(axis, CDF, CURVES, styles(CURVES))), title="a title"
        )

    for first, second in zip(save("first"), save("again"), strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.png", "again.svg", "first.png", "first.svg"]


def test_an_unknown_kind_of_figure_is_refused_before_drawing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"one of svg, png, pdf, got 'figure\.doc'"):
        canvas.write(tmp_path / "figure.doc", lambda figure: pytest.fail("drawn"))
    assert list(tmp_path.iterdir()) == []


def drawn(names: Iterable[str], directory: Path) -> tuple[Axes, Legend]:
    """Save a figure of a curve for each name; return its axis and legend as they stand in it."""
    axes = []
    curves = {"uncongested": curve(100)} | {name: curve(100 + n) for n, name in enumerate(names, start=1)}

    def draw(axis: Axes) -> Axes:
        axes.append(axis)
        return label_lines(plot.lines(axis, CDF, curves, styles(curves)))

    canvas.save(directory / "figure", draw, title="a title")
    legend = axes[-1].get_legend()
    assert legend is not None
    figure = axes[-1].get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    return axes[-1], legend


def test_long_names_leave_the_curves_their_room(tmp_path: Path) -> None:
    short, _ = drawn(["pi"], tmp_path)
    long, legend = drawn(["ared:min_th=12,max_th=36,w_q=1/8192,mode=byte,ecn=true,ecn_policy=mark_in_gentle"], tmp_path)
    assert long.get_window_extent().width > 0.6 * short.get_window_extent().width
    assert legend.get_window_extent().x1 <= long.figure.bbox.x1


def test_many_names_are_all_in_the_figure(tmp_path: Path) -> None:
    axis, legend = drawn([f"scheme {n}" for n in range(40)], tmp_path)
    box, page = legend.get_window_extent(), axis.figure.bbox
    assert page.y0 <= box.y0
    assert box.y1 <= page.y1


def test_a_name_is_written_as_it_was_typed(tmp_path: Path) -> None:
    names = ["law:x=$x_$", "law:y=[/red]", "law:z=$a$ & <b>"]
    curves = {name: pl.DataFrame({"time_ms": [10.0, 20.0], "fraction": [0.4, 1.0]}) for name in names}
    files = canvas.save(
        tmp_path / "names",
        lambda axis: label_lines(plot.lines(axis, CCDF, curves, styles(curves))),
        title="at $_$ 98 %",
    )
    svg_text = unescape(files[0].read_text(encoding="utf-8"))
    assert all(text in svg_text for text in (*names, "at $_$ 98 %"))


def test_a_figure_of_ones_own_has_the_colours_of_all_others() -> None:
    cdf, ccdf, difference, bars = Figure().subplots(2, 2).ravel()
    own.cdf(CURVES, cdf)
    own.ccdf(CURVES, ccdf)
    band = pl.DataFrame({"time_ms": [10.0, 100.0], "difference": [0.0, 0.1], "low": [-0.1, 0.0], "high": [0.1, 0.2]})
    own.difference({"pi": band, "rem": band}, difference, to="droptail")
    colours = {line.get_label(): line.get_color() for line in cdf.get_lines()}
    assert {line.get_label(): line.get_color() for line in ccdf.get_lines()} == colours
    for line in difference.get_lines():
        assert line.get_color() == colours[line.get_label()]
    row = {"mean": [2.0], "low": [1.0], "high": [4.0]}
    single_seed = pl.DataFrame(row).with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    drawn = own.bars({"droptail": pl.DataFrame(row), "pi": single_seed, "rem": single_seed.clear()}, bars)
    assert [text.get_text() for text in drawn.get_yticklabels()] == ["droptail", "pi", "rem"]
    assert [patch.get_window_extent().width > 0 for patch in drawn.patches] == [True, True]
    assert to_rgba(drawn.patches[0].get_facecolor())[:3] == to_rgba(colours["droptail"])[:3]
    (line,) = drawn.get_lines()
    assert np.array_equal(line.get_xdata(), [1.0, 4.0])


def test_keyword_arguments_and_rc_parameters_style_lines() -> None:
    two = {"droptail": curve(400), "pi": curve(150)}
    with plt.rc_context({"axes.prop_cycle": cycler(color=["#123456", "#654321"]), "lines.linewidth": 0.7}):
        rc_axis, keyword_axis = Figure().subplots(1, 2)
        own.cdf(two, rc_axis)
        own.cdf(two, keyword_axis, lw=3, color="red")
    assert [(line.get_color(), line.get_linewidth()) for line in rc_axis.get_lines()] == [
        ("#123456", 0.7),
        ("#654321", 0.7),
    ]
    assert [(line.get_color(), line.get_linewidth()) for line in keyword_axis.get_lines()] == [("red", 3), ("red", 3)]


def test_a_plain_savefig_has_the_names_of_all_lines() -> None:
    figure, axis = plt.subplots(figsize=(3.3, 2.2))
    own.cdf({"codel:target=5ms,interval=100ms": curve(400), "pi": curve(150)}, axis)
    figure.canvas.draw()
    legend, label = axis.get_legend(), axis.xaxis.get_label()
    assert legend is not None
    plt.close(figure)
    for part in (legend, label):
        box = part.get_window_extent()
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.height


def test_a_distribution_of_several_seeds_has_a_band(axis: Axes) -> None:
    band = curve(400).with_columns(low=pl.col("fraction") - 0.1, high=pl.col("fraction") + 0.1)
    own.cdf({"droptail": band, "pi": curve(150)}, axis)
    (band_artist,) = axis.collections
    assert band_artist.get_paths()[0].contains_point((400, 45))
    assert not band_artist.get_paths()[0].contains_point((400, 65))


def stretch(delay_ms: float) -> pl.DataFrame:
    return pl.DataFrame({"time_s": [1.0, 2.0, 3.0]}).with_columns(
        delay_ms_low=pl.lit(delay_ms / 2), delay_ms_mean=pl.lit(delay_ms), delay_ms_high=pl.lit(2 * delay_ms)
    )


def test_a_queue_over_time_has_a_line_within_its_band(axis: Axes) -> None:
    own.queue({"droptail": stretch(80), "pi": stretch(20)}, axis)
    assert [np.unique(line.get_ydata()).tolist() for line in axis.get_lines()] == [[80], [20]]
    bounds = [(box.y0, box.y1) for collection in axis.collections for box in [collection.get_datalim(axis.transData)]]
    assert bounds == [(40, 160), (10, 40)]


def test_slowdowns_are_of_the_quantile_that_is_asked_for(axis: Axes) -> None:
    curves = {"pi": pl.DataFrame({"bytes": [1e3, 1e6], "p50": [2.0, 3.0], "p90": [4.0, 6.0], "p99": [9.0, 9.5]})}
    (line,) = own.slowdown(curves, axis, quantile="p90").get_lines()
    assert np.asarray(line.get_ydata()).tolist() == [4, 6]
    assert axis.get_ylabel() == "slowdown, 90th percentile"


def test_an_ellipse_lies_where_delay_and_throughput_do(axis: Axes) -> None:
    rng = np.random.default_rng(1)
    points = pl.DataFrame({"delay_ms": rng.normal(20, 4, 10_000), "throughput_mbps": rng.normal(90, 1, 10_000)})
    own.ellipse({"pi": points}, axis)
    outline = axis.patches[0]
    assert isinstance(outline, Ellipse)
    assert np.asarray(outline.get_center()) == pytest.approx([20, 90], abs=0.2)
    assert sorted((outline.get_width(), outline.get_height())) == pytest.approx([2, 8], rel=0.05)
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["pi"]


def test_a_density_counts_every_request_that_it_has_room_for(axis: Axes) -> None:
    requests = pl.DataFrame({"response_bytes": [700, 700, 900, 10**6], "response_time_ms": [50.0, 60.0, 90.0, 50.0]})
    own.density(requests, axis)
    (cells,) = axis.collections
    counts = np.ma.masked_array(cells.get_array())
    assert counts.compressed().tolist() == [2, 1]


def test_what_comparisons_offer_is_what_the_figures_draw(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"},
        users={"per_side": 300},
        protocol={"warmup": "2 s", "duration": "10 s"},
        record={"exchanges": True},
    )
    compared = lab.compare("droptail:limit=20", "pi", experiment=experiment, seeds=[1, 2], out=tmp_path)
    queue, ellipse, slowdown, density = Figure().subplots(2, 2).ravel()
    own.queue(compared.queues(direction=1), queue)
    own.ellipse(compared.delay_and_throughput(direction=1), ellipse)
    own.slowdown(compared.slowdowns(), slowdown)
    own.density(compared.results[-1].exchanges, density)
    by_label = {line.get_label(): line for line in queue.get_lines()}
    assert list(by_label) == ["uncongested", "droptail:limit=20", "pi"]
    assert [line.get_label() for line in slowdown.get_lines()] == ["droptail:limit=20", "pi"]
    rows = compared.delay_and_throughput(direction=1)["pi"]
    assert len(rows) == 2 * 10
    pi_results = [
        result.summary["directions"][1]["throughput_mbps"] for result in compared.results if result.cell.label == "pi"
    ]
    assert rows["throughput_mbps"].mean() == pytest.approx(np.mean(pi_results), rel=1e-6)


def test_slowdowns_without_their_tables_are_refused(tmp_path: Path) -> None:
    experiment = lab.Experiment(users={"per_side": 20}, protocol={"warmup": "0 s", "duration": "2 s"})
    compared = lab.compare("pi", experiment=experiment, seeds=[1], out=tmp_path)
    with pytest.raises(lab.SpecError, match=r"record\.exchanges: must be true"):
        compared.slowdowns()
    without_baseline = lab.compare("pi", experiment=experiment, seeds=[1], out=tmp_path, baseline=False)
    with pytest.raises(lab.SpecError, match="needs the uncongested network"):
        without_baseline.slowdowns()


def test_a_measure_against_another_has_dots_over_intervals(axis: Axes) -> None:
    plain = pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    known = plain.with_columns(low=pl.col("y") - 1, high=pl.col("y") + 2, left=pl.col("x") - 0.5, right=pl.col("x"))
    own.xy({"plain": plain, "known": known}, axis, dots=5)
    without, line = axis.get_lines()
    assert (without.get_marker(), without.get_markersize(), heights(without)) == ("o", 5, [3, 4])
    up, across = axis.collections
    assert isinstance(up, LineCollection)
    assert isinstance(across, LineCollection)
    assert [np.asarray(part).tolist() for part in up.get_segments()] == [[[1, 2], [1, 5]], [[2, 3], [2, 6]]]
    assert [np.asarray(part).tolist() for part in across.get_segments()] == [[[0.5, 3], [1, 3]], [[1.5, 4], [2, 4]]]
    ((*colour, _),) = np.asarray(up.get_color())
    assert to_rgba(line.get_color())[:3] == tuple(colour) != to_rgba(without.get_color())[:3]


def test_a_trace_names_the_average_where_its_law_keeps_one(axis: Axes) -> None:
    samples = pl.DataFrame({"time_s": [0.0, 1.0], "queue": [5.0, 7.0], "average": [5.0, 6.0]})
    own.trace(samples.drop("average"), axis)
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["queue"]
    own.trace(samples, second_axis := Figure().subplots())
    assert [(line.get_label(), heights(line)) for line in second_axis.get_lines()] == [
        ("queue", [5, 7]),
        ("its average", [5, 6]),
    ]


GRID = pl.DataFrame(
    {"load": [98, 80, 80, 98], "target": ["5 ms", "5 ms", "1 ms", "1 ms"], "loss": [1.3, 0.2, 0.4, None]}
)


def test_a_heat_map_has_its_numbers_in_the_order_of_the_axes(axis: Axes) -> None:
    own.heatmap(GRID, axis, x="load", y="target", value="loss")
    assert [label.get_text() for label in axis.get_xticklabels()] == ["80", "98"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["5 ms", "1 ms"]
    numbers = {text.get_position(): text.get_text() for text in axis.texts}
    assert numbers == {(0.5, 0.5): "0.2", (1.5, 0.5): "1.3", (0.5, 1.5): "0.4"}, "a missing value has no number"


@pytest.mark.parametrize(
    ("rows", "value", "message"),
    [
        (GRID, "lost", "value: must be one of load, target, loss, got 'lost'"),
        (pl.concat([GRID, GRID]), "loss", "rows: must have one row for each load and target, got several"),
    ],
)
def test_a_heat_map_refuses_other_frames(rows: pl.DataFrame, value: str, message: str, axis: Axes) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        own.heatmap(rows, axis, x="load", y="target", value=value)
