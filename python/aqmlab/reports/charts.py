"""The figures of a report: the rows, the views and the caption of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import polars as pl

from aqmlab.explanations import PARTS
from aqmlab.explanations.plot import COLOURS
from aqmlab.metrics.numbers import NUMBERS, Number
from aqmlab.reports import breakdown, downsample
from aqmlab.reports.breakdown import Breakdown
from aqmlab.reports.selection import Selection
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results import timeseries
from aqmlab.results.cells import BASELINE
from aqmlab.results.figures.charts import (
    CCDF,
    CDF,
    DELAY,
    DIFFERENCE,
    PROBABILITY,
    QUANTILES,
    SIZE,
    TIME,
    Axis,
    Lines,
    slowdown,
)
from aqmlab.spec import directions

BARS = [number for number in NUMBERS.values() if number.is_brief and len(number.path) == 1]
"""The numbers that are drawn as bars."""

_INTERVALS = "Thin lines: 95 % confidence intervals of the mean over the seeds (Student's t)."


@dataclass(frozen=True)
class Chart:
    """One figure: rows, and the views that draw them."""

    name: str
    title: str
    caption: str
    rows: pl.DataFrame
    views: Mapping[str, Mapping[str, Any]]
    """Vega-Lite specs of ``rows`` by name; the page shows the first, and buttons for the others."""
    has_lines: bool = True
    """True where each scheme is a line, which its name hides and shows."""
    key: Mapping[str, str] = field(default_factory=dict)
    """Colours by what they mean, where they are not those of schemes."""
    is_wide: bool = False
    """True for a figure that needs the whole width of the page."""
    is_flat: bool = False
    """True for bars, which stand apart from figures with a plot."""

    @property
    def schemes(self) -> list[str]:
        """The short names of the schemes."""
        return self.rows["scheme"].drop_nulls().unique(maintain_order=True).to_list()

    def record(self) -> dict[str, Any]:
        """Return the figure for the page's script."""
        return {"rows": self.rows.to_dicts(), "views": self.views}


def charts(selection: Selection, vega: VegaBuilder, times: Breakdown = MappingProxyType({})) -> list[Chart]:
    """Return the non-empty figures of a selection, with ``times`` also the breakdown of requests."""
    figures = [
        response_times(selection, vega),
        _differences(selection, vega),
        _sizes(selection, vega),
        _slowdowns(selection, vega),
        delay_over_time(selection, vega),
        _signals(selection, vega),
        _over_time(
            selection, vega, PROBABILITY, "probability", "Probability of a mark or drop over time", _MARK_OR_DROP
        ),
        _throughput(selection, vega),
        _flows(selection, vega),
        _windows(selection, vega),
        _parts(vega, times),
        _densities(selection, vega),
        *(_bars(selection, vega, number) for number in BARS),
    ]
    return [chart for chart in figures if chart is not None]


def response_times(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Return the figure of response times."""
    points = {label: downsample.distribution(results) for label, results in selection.by_label.items()}
    frames = {label: CDF.rows(frame).with_columns(frame.select(CCDF.y.expression)) for label, frame in points.items()}
    rows = vega.rows(frames)
    if rows.is_empty():
        return None
    has_bands = "low" in rows.columns
    log = TIME.log()
    ccdf_axis = replace(CCDF.y, is_log=False, limits=(0, 100))
    views = {
        "CDF, linear": vega.lines(CDF, band=has_bands),
        "CDF, logarithmic": vega.lines(Lines(log, CDF.y), band=has_bands),
        "CCDF, linear": vega.lines(Lines(CDF.x, ccdf_axis)),
        # The longest time has a share of 0, which has no place on a logarithmic axis.
        "CCDF, logarithmic": vega.lines(Lines(log, CCDF.y.log()), where="datum.beyond > 0"),
    }
    caption = "CDF: the share of requests answered within a time. CCDF: the share of requests that take longer."
    if has_bands:
        caption += " Bands: 95 % confidence intervals for each time over the seeds (Student's t)."
    return Chart("response-times", "Response times", caption, rows, views)


def delay_over_time(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Return the figure of the queueing delay over time, a view for each direction of each link."""
    return _over_time(selection, vega, DELAY, "delay", _DELAY_TITLE, _DELAY, has_capacity=True)


def _differences(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Draw the differences from the first scheme, paired by seed; without a band if there is one seed only."""
    if len(selection.labels) < 2:
        return None
    first, *others = selection.labels
    if selection.paired is not None:
        frames = selection.paired.response_time_differences()
        seeds = len(selection.pairs[first])
        precision = (
            f"Bands: 95 % simultaneous confidence bands over all times, from {seeds} pairs of seeds (Student's t)."
        )
    elif selection.is_one_seed:
        cells = {label: selection.by_label[label][0] for label in selection.labels}
        frames = {label: downsample.difference(cells[first], cells[label]) for label in others}
        precision = "One pair of one seed has no band: chance alone could be the cause of any difference."
    else:
        return None
    rows = vega.rows({label: DIFFERENCE.rows(frame) for label, frame in frames.items()})
    if rows.is_empty():
        return None
    view = vega.lines(DIFFERENCE, band=selection.paired is not None, zero=True)
    name = vega.names[first]
    meaning = f"Above 0 a scheme has answered more requests by that time than {name}, under the same users."
    return Chart("difference", f"Difference in response times from {name}", f"{meaning} {precision}", rows, {"": view})


def _sizes(selection: Selection, vega: VegaBuilder) -> Chart | None:
    rows = vega.rows({label: downsample.by_size(results) for label, results in selection.by_label.items()})
    if rows.is_empty():
        return None
    views = {
        QUANTILES[share]: vega.lines(Lines(SIZE, Axis(share, f"response time, ms: {QUANTILES[share]}").log()))
        for share in ("p50", "p90")
    }
    return Chart("sizes", "Response time by response size", _BY_SIZE, rows, views)


def _slowdowns(selection: Selection, vega: VegaBuilder) -> Chart | None:
    cells = [result.cell for result in selection.valid]
    if BASELINE not in selection.by_label or not all(cell.resolved["record"].get("exchanges") for cell in cells):
        return None
    rows = vega.rows(selection.comparison.slowdowns())
    if rows.is_empty():
        return None
    views = {name: vega.lines(slowdown(quantile)) for quantile, name in QUANTILES.items()}
    caption = (
        "Slowdown: a request's response time divided by that of the same request of the same user on the uncongested"
        f" network. {_BY_SIZE}"
    )
    return Chart("slowdown", "Slowdown by response size", caption, rows, views)


def _densities(selection: Selection, vega: VegaBuilder) -> Chart | None:
    rows = vega.rows({label: downsample.density(results) for label, results in selection.by_label.items()})
    if rows.is_empty():
        return None
    share = Axis("percent", "% of requests", is_log=True)
    views = {
        vega.names[label]: vega.density(SIZE, TIME.log(), share, vega.names[label])
        for label in (*selection.labels, *(label for label in selection.by_label if label == BASELINE))
        if vega.names[label] in rows["scheme"]
    }
    caption = "A darker cell has more requests of that response size and response time, over all seeds."
    return Chart("density", "Response times and sizes", caption, rows, views, has_lines=False)


def _parts(vega: VegaBuilder, times: Breakdown) -> Chart | None:
    if not times:
        return None
    rows = vega.rows(breakdown.means(times))
    part = {"part": pl.col("part").replace(PARTS), "place": pl.col("part").replace_strict(_PART_ORDER)}
    colours = {PARTS[part]: COLOURS[part] for part in rows["part"].unique(maintain_order=True)}
    wait = breakdown.wait_of(times)
    views = {
        title: vega.stack(Axis("ms", f"{wait.name}, ms"), colours, where=f"datum.band === '{band}'")
        for band, title in breakdown.band_names(times).items()
    }
    caption = (
        f"Parts of the {wait.name}, means over the seeds; they add up to it. Around p90: the {wait.plural} from half a"
        " percentile point below the 90th percentile to half a point above it."
    )
    rows_in_order = rows.with_columns(**part)
    return Chart("parts", f"Breakdown of {wait.name}s", caption, rows_in_order, views, has_lines=False, key=colours)


def _over_time(
    selection: Selection,
    vega: VegaBuilder,
    chart: Lines,
    name: str,
    title: str,
    meaning: str,
    *,
    has_capacity: bool = False,
) -> Chart | None:
    """Draw a variable of the queue from the first seed of each scheme, a view for each direction of each link.

    With ``has_capacity`` it is before the capacity of links whose rate changes.
    """
    results = {label: selection.by_label[label][0] for label in selection.labels}
    frames = {label: timeseries.downsample(result) for label, result in results.items()}
    place_columns = ("link", "direction")
    rows = vega.rows(
        {
            label: pl.concat([frame.select(place_columns), chart.rows(frame)], how="horizontal").drop_nulls()
            for label, frame in frames.items()
            if chart.y.expression.meta.root_names()[0] in frame.columns
        }
    )
    if rows.is_empty():
        return None
    first = results[selection.labels[0]]
    cell = first.cell
    capacities = timeseries.capacity(first) if has_capacity else pl.DataFrame(schema=place_columns)
    varying = set(capacities.select(place_columns).rows())
    views = {
        directions.place(link, cell.direction_names[direction], in_chain=len(cell.links) > 1): vega.lines(
            chart,
            band=True,
            where=_here(link, direction),
            behind=_CAPACITY if (link, direction) in varying else None,
        )
        for link, direction in rows.select(place_columns).unique().sort(place_columns).rows()
    }
    seeds = sorted({result.cell.seed for result in results.values()})
    caption = (
        f"{meaning} Seed {' and '.join(map(str, seeds))}, after {cell.warmup_s:g} s of warm-up. Lines are the means of"
        f" {timeseries.BINS} equal intervals, bands their minima and maxima."
        f" {directions.label(cell.direction_names).capitalize()}"
    ).rstrip()
    if not capacities.is_empty():
        caption += f" {_BEHIND}"
    return Chart(name, title, caption, _with_capacities(rows, capacities), views)


def _signals(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Draw drops and marks over time from the first seed of each scheme, a view for each direction with some."""
    results = {label: selection.by_label[label][0] for label in selection.labels}
    rows = vega.rows({label: timeseries.signals(result) for label, result in results.items()})
    if rows.is_empty():
        return None
    view_columns = ("link", "direction", "signal")
    sums = rows.group_by(view_columns).agg(pl.col("per_s").sum()).filter(pl.col("per_s") > 0)
    if sums.is_empty():
        return None
    cell = results[selection.labels[0]].cell
    views = {
        f"{directions.place(link, cell.direction_names[direction], in_chain=len(cell.links) > 1)}, {signal}": (
            vega.lines(_SIGNALS, where=f"{_here(link, direction)} && datum.signal === '{signal}'")
        )
        for link, direction, signal in sums.select(view_columns).sort(view_columns).rows()
    }
    seeds = sorted({result.cell.seed for result in results.values()})
    caption = (
        "Packets that the queue drops, for want of room or by its law, and packets that it marks. Means of equal"
        f" intervals. Seed {' and '.join(map(str, seeds))}."
    )
    shown = rows.join(sums, on=view_columns, how="semi", maintain_order="left")
    return Chart("signals", "Drops and marks over time", caption, shown, views)


def _throughput(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Draw the throughput of links whose rate changes over their capacity, from the first seed of each scheme."""
    results = {label: selection.by_label[label][0] for label in selection.labels}
    if not results:
        # The uncongested network alone.
        return None
    first = results[selection.labels[0]]
    capacities = timeseries.capacity(first)
    if capacities.is_empty():
        return None
    rows = vega.rows({label: timeseries.throughput(result) for label, result in results.items()})
    cell, chart = first.cell, Lines(DELAY.x, _RATE)
    views = {
        directions.place(link, cell.direction_names[direction], in_chain=len(cell.links) > 1): vega.lines(
            chart, where=_here(link, direction), behind=_CAPACITY
        )
        for link, direction in capacities.select("link", "direction").unique().sort("link", "direction").rows()
    }
    seeds = sorted({result.cell.seed for result in results.values()})
    caption = f"Frames that a link sends, with their overhead. Seed {' and '.join(map(str, seeds))}. {_BEHIND}"
    return Chart("throughput-over-time", "Throughput over time", caption, _with_capacities(rows, capacities), views)


def _here(link: int, direction: int) -> str:
    """Return the condition of rows of one direction of a link."""
    return f"datum.link === {link} && datum.direction === {direction}"


def _with_capacities(rows: pl.DataFrame, capacities: pl.DataFrame) -> pl.DataFrame:
    """Add the capacities of links to the rows of a figure over time, as rows without a scheme."""
    if capacities.is_empty():
        return rows
    of_links = capacities.rename({"mbps": _CAPACITY.column}).with_columns(pl.selectors.float().round_sig_figs(6))
    return pl.concat([rows, of_links], how="diagonal_relaxed")


def _flows(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Draw the rates of flows and their fairness over time, from the first seed of each scheme that recorded flows."""
    recorded = {
        label: selection.by_label[label][0]
        for label in selection.labels
        if selection.by_label[label][0].cell.resolved["record"].get("flows")
    }
    rows = vega.rows({label: timeseries.flow_rates(result) for label, result in recorded.items()})
    if rows.is_empty():
        return None
    names = next(iter(recorded.values())).cell.direction_names
    time = DELAY.x
    views = {}
    for direction in rows["direction"].unique().sort():
        place = f", {names[direction]}" if rows["direction"].n_unique() > 1 else ""
        here = f"datum.direction === {direction}"
        fairness = Lines(time, Axis("fairness", "Jain's index of the rates", limits=(0, 1)))
        views[f"fairness{place}"] = vega.lines(fairness, where=f"{here} && datum.fairness !== null")
        views[f"rate of a flow{place}"] = vega.lines(Lines(time, Axis("rate", "rate, Mbit/s")), band=True, where=here)
    seeds = sorted({result.cell.seed for result in recorded.values()})
    caption = (
        "Data delivered to the flows of sources. Jain's index is 1 if all flows have the same rate, and 1 over their"
        " number if one flow has everything. Rates: lines are medians, bands reach from the slowest flow to the"
        f" fastest. Seed {' and '.join(map(str, seeds))}."
    )
    return Chart("flows", "Fairness of the flows over time", caption, rows, views)


def _windows(selection: Selection, vega: VegaBuilder) -> Chart | None:
    """Draw the congestion window of each flow from the first seed of each scheme, a view for each flow."""
    results = {label: selection.by_label[label][0] for label in selection.labels}
    rows = vega.rows({label: downsample.windows(result) for label, result in results.items()})
    if rows.is_empty():
        return None
    flows = rows["flow"].unique(maintain_order=True).to_list()[:_MAX_FLOWS]
    views = {flow: vega.lines(_WINDOW, band=True, where=f"datum.flow === {json.dumps(flow)}") for flow in flows}
    caption = (
        "The congestion window of each flow, named after its source, from the first seed."
        f" Lines are the means of {timeseries.BINS} equal intervals, bands their minima and maxima."
    )
    shown = rows.filter(pl.col("flow").is_in(flows))
    return Chart("congestion-windows", "Congestion windows over time", caption, shown, views)


def _bars(selection: Selection, vega: VegaBuilder, number: Number) -> Chart | None:
    """Draw a bar for each scheme, with a view for each direction of each link if the number is one of links."""
    rows_by_place = {
        position: vega.rows({label: frame.with_columns(place=pl.lit(position)) for label, frame in intervals.items()})
        for position, intervals in downsample.intervals(selection, number).items()
    }
    nonzero = {position: rows for position, rows in rows_by_place.items() if rows["mean"].abs().sum()}
    if not nonzero:
        return None
    views, longer = {}, False
    for position, rows in nonzero.items():
        # An interval from two or three seeds may be many times as long as every bar.
        longest, highest = float(max(rows["mean"])), float(max([0.0, *rows["high"].drop_nulls()]))
        end = max(longest, min(2 * longest, highest))
        longer |= highest > end
        has_intervals = rows["low"].is_not_null().any()
        axis = Axis("mean", number.heading, limits=(0, end))
        condition = f"datum.place === {json.dumps(position)}"
        views[position] = vega.bars(axis, whiskers=has_intervals, where=condition)
    all_rows = pl.concat(nonzero.values())
    caption = _INTERVALS if all_rows["low"].is_not_null().any() else "One seed has no intervals."
    if longer:
        caption += " An interval that reaches the edge is longer than shown."
    title = number.heading[0].upper() + number.heading[1:]
    name = number.name.replace(" ", "-")
    return Chart(name, title, caption, all_rows, views, has_lines=False, is_flat=True)


_WINDOW = Lines(DELAY.x, Axis("cwnd_kb", "congestion window, kB"))

_SIGNALS = Lines(DELAY.x, Axis("per_s", "packets a second"))

_RATE = Axis("mbps", "rate, Mbit/s")
_CAPACITY = Axis("capacity", _RATE.label)

_BEHIND = "Grey: the capacity of the link, its mean in each of the intervals; the first seed of the first scheme."

_MAX_FLOWS = 8
"""The number of flows that a report shows, each by a button. Ours."""

_PART_ORDER = {part: index for index, part in enumerate(PARTS)}

_DELAY_TITLE = "Queueing delay over time"
_DELAY = "Queueing delay: the bytes in the queue divided by the link's rate."
_MARK_OR_DROP = "The probability with which the law marks or drops a packet."
_BY_SIZE = "Requests of all seeds, in classes of response size between two powers of two with ten requests or more."
