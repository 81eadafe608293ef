"""The figures of a report: their rows, views and explanations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import polars as pl

from aqmlab.explain import PARTS
from aqmlab.explain.plot import COLOURS
from aqmlab.metrics.numbers import NUMBERS, Number
from aqmlab.report import explained, series
from aqmlab.report.explained import Explained
from aqmlab.report.gathered import Gathered
from aqmlab.report.vega import Axis, VegaBuilder
from aqmlab.results import timeseries
from aqmlab.results.cells import BASELINE
from aqmlab.spec.directions import label, place

BARS = [number for number in NUMBERS.values() if number.is_brief and len(number.path) == 1]
"""The numbers that are drawn as bars."""

_INTERVALS = "The thin lines are 95 % intervals of the mean over the seeds (Student's t)."


@dataclass(frozen=True)
class Chart:
    """One figure: rows, and several views of them."""

    name: str
    title: str
    said: str
    """The explanation below the title."""
    rows: pl.DataFrame
    views: Mapping[str, Mapping[str, Any]]
    """Specs of Vega-Lite by the names of the views; the first one is shown first. Their data are ``rows``."""
    has_lines: bool = True
    """True if each scheme is a line, which its name in the legend hides and shows."""
    key: Mapping[str, str] = field(default_factory=dict)
    """The entries of the legend other than schemes, with their colours."""

    @property
    def schemes(self) -> list[str]:
        """The short names of the schemes in the figure."""
        return self.rows["scheme"].unique(maintain_order=True).to_list()

    def record(self) -> dict[str, Any]:
        """Return the data for the page's script."""
        return {"rows": self.rows.to_dicts(), "views": self.views}


def charts(gathered: Gathered, vega: VegaBuilder, times: Explained = MappingProxyType({})) -> list[Chart]:
    """Return the figures of the selected cells, with response times by cause if given; empty figures are left out."""
    made = [
        _response_times(gathered, vega),
        _differences(gathered, vega),
        _sizes(gathered, vega),
        _slowdowns(gathered, vega),
        _over_time(gathered, vega, "delay_ms", "Queueing delay over time", "queueing delay, ms", _DELAY),
        _over_time(gathered, vega, "probability", "The law's probability over time", "probability", _PROBABILITY),
        _parts(vega, times),
        _densities(gathered, vega),
        *(_bars(gathered, vega, number) for number in BARS),
    ]
    return [chart for chart in made if chart is not None]


def _response_times(gathered: Gathered, vega: VegaBuilder) -> Chart | None:
    rows = vega.rows({label: series.distribution(results) for label, results in gathered.by_label.items()})
    if rows.is_empty():
        return None
    linear = Axis("time_ms", "response time, ms", domain=(0, 2000))
    cumulative = Axis("within", "requests answered within it, %", domain=(0, 100))
    complementary = "requests that take longer, %"
    views = {
        "CDF, linear": vega.lines(linear, cumulative),
        "CDF, logarithmic": vega.lines(_TIME, cumulative),
        "CCDF, linear": vega.lines(linear, Axis("beyond", complementary, domain=(0, 100))),
        # The share beyond the longest time is 0, which a logarithmic axis cannot show.
        "CCDF, logarithmic": vega.lines(_TIME, Axis("beyond", complementary, is_log=True), where="datum.beyond > 0"),
    }
    said = "CDF: the share of the requests that are answered within a time. CCDF: the share that takes longer."
    return Chart("response-times", "Response times", said, rows, views)


def _differences(gathered: Gathered, vega: VegaBuilder) -> Chart | None:
    """Draw the paired differences from the first scheme; with one seed, that of one pair."""
    if len(gathered.labels) < 2:
        return None
    first, *others = gathered.labels
    if gathered.paired is not None:
        bands = gathered.paired.response_time_differences()
        rows = vega.rows({label: series.band(band) for label, band in bands.items()})
        seeds = len(gathered.pairs[first])
        said = f"Bands hold with 95 % at all their times together, from {seeds} pairs of seeds (Student's t)."
    else:
        if not gathered.is_one_seed:
            return None
        cells = {label: gathered.by_label[label][0] for label in gathered.labels}
        rows = vega.rows({label: series.difference(cells[first], cells[label]) for label in others})
        said = "One seed gives one pair and no band, so that the effect of chance is unknown."
    if rows.is_empty():
        return None
    more = Axis("more", "difference of the CDFs, percentage points")
    view = vega.lines(_TIME, more, band=gathered.paired is not None, zero=True)
    name = vega.names[first]
    above = f"Above 0 a scheme answers more requests within a time than {name}, under the same users."
    return Chart("difference", f"Response times, less {name}'s", f"{above} {said}", rows, {"": view})


def _sizes(gathered: Gathered, vega: VegaBuilder) -> Chart | None:
    rows = vega.rows({label: series.by_size(results) for label, results in gathered.by_label.items()})
    if rows.is_empty():
        return None
    size = Axis("bytes", "size of the response, bytes", is_log=True)
    views = {
        what: vega.lines(size, Axis(field, f"response time, ms: {what}", is_log=True))
        for field, what in (("p50", "median"), ("p90", "90th percentile"))
    }
    said = "By octave of the size, if it has at least ten requests, all seeds together."
    return Chart("sizes", "Response time by response size", said, rows, views)


def _slowdowns(gathered: Gathered, vega: VegaBuilder) -> Chart | None:
    cells = [result.cell for result in gathered.valid]
    if BASELINE not in gathered.by_label or not all(cell.resolved["record"].get("exchanges") for cell in cells):
        return None
    rows = vega.rows(gathered.comparison.slowdowns())
    if rows.is_empty():
        return None
    size = Axis("bytes", "size of the response, bytes", is_log=True)
    views = {
        what: vega.lines(size, Axis(field, f"slowdown: {what}", is_log=True))
        for field, what in (("p50", "median"), ("p90", "90th percentile"), ("p99", "99th percentile"))
    }
    said = (
        "The response time of a request divided by that of the same request on the uncongested network. By octave of"
        " the size, if it has at least ten requests, all seeds together."
    )
    return Chart("slowdown", "Slowdown by response size", said, rows, views)


def _densities(gathered: Gathered, vega: VegaBuilder) -> Chart | None:
    rows = vega.rows({label: series.density(results) for label, results in gathered.by_label.items()})
    if rows.is_empty():
        return None
    size = Axis("bytes", "size of the response, bytes", is_log=True)
    views = {
        vega.names[label]: vega.density(size, _TIME, Axis("percent", "% of requests", is_log=True), vega.names[label])
        for label in (*gathered.labels, *(label for label in gathered.by_label if label == BASELINE))
        if vega.names[label] in rows["scheme"]
    }
    said = "A darker cell has more requests with this response size and response time, all seeds together."
    return Chart("density", "Response times and sizes", said, rows, views, has_lines=False)


def _parts(vega: VegaBuilder, times: Explained) -> Chart | None:
    if not times:
        return None
    rows = vega.rows(explained.means(times))
    part = {"part": pl.col("part").replace(PARTS), "place": pl.col("part").replace_strict(_PLACES)}
    colours = {PARTS[each]: COLOURS[each] for each in rows["part"].unique(maintain_order=True)}
    views = {
        what: vega.stack(Axis("ms", "response time, ms"), colours, where=f"datum.band === '{band}'")
        for band, what in explained.BANDS.items()
    }
    said = (
        "The parts of response times by cause, means over the seeds. Requests around p90 are those from half a"
        " percentile point below the 90th percentile to half a point above it."
    )
    shown = rows.with_columns(**part)
    return Chart("parts", "Response times by cause", said, shown, views, has_lines=False, key=colours)


def _over_time(gathered: Gathered, vega: VegaBuilder, field: str, title: str, axis: str, said: str) -> Chart | None:
    """Draw a variable of the queue from the first seed of each scheme, with a view for each direction of each link."""
    kept = {bound: f"{field}_{bound}" for bound in ("low", "mean", "high")}
    frames = {label: timeseries.downsample(gathered.by_label[label][0]) for label in gathered.labels}
    rows = vega.rows(
        {
            label: frame.select("link", "direction", "time_s", **kept).drop_nulls()
            for label, frame in frames.items()
            if kept["mean"] in frame.columns
        }
    )
    if rows.is_empty():
        return None
    cell = gathered.by_label[gathered.labels[0]][0].cell
    views = {
        place(link, cell.direction_names[direction], in_chain=len(cell.links) > 1): vega.lines(
            Axis("time_s", "time since the start, s"),
            Axis("mean", axis),
            band=True,
            where=f"datum.link === {link} && datum.direction === {direction}",
        )
        for link, direction in rows.select("link", "direction").unique().sort("link", "direction").rows()
    }
    seeds = sorted({gathered.by_label[label][0].cell.seed for label in gathered.labels})
    said = (
        f"{said} Seed {' and '.join(map(str, seeds))}, after {cell.warmup_s:g} s of warm-up. Lines are means of"
        f" {timeseries.BINS} periods, bands are from the minimum to the maximum of each."
        f" {label(cell.direction_names).capitalize()}"
    ).rstrip()
    return Chart(field.replace("_ms", "").replace("_", "-"), title, said, rows, views)


def _bars(gathered: Gathered, vega: VegaBuilder, number: Number) -> Chart | None:
    """Draw a bar for each scheme, with a view for each direction of each link if the number is one of links."""
    found = {
        where: vega.rows({label: frame.with_columns(place=pl.lit(where)) for label, frame in intervals.items()})
        for where, intervals in series.intervals(gathered, number).items()
    }
    drawn = {where: rows for where, rows in found.items() if rows["mean"].abs().sum()}
    if not drawn:
        return None
    views, longer = {}, False
    for where, rows in drawn.items():
        # An interval from two or three seeds may be many times as long as all bars.
        longest, highest = float(max(rows["mean"])), float(max([0.0, *rows["high"].drop_nulls()]))
        end = max(longest, min(2 * longest, highest))
        longer |= highest > end
        has_intervals = rows["low"].is_not_null().any()
        axis = Axis("mean", number.heading, domain=(0, end))
        condition = f"datum.place === {json.dumps(where)}"
        views[where] = vega.bars(axis, whiskers=has_intervals, where=condition)
    every = pl.concat(drawn.values())
    said = _INTERVALS if every["low"].is_not_null().any() else "One seed gives no intervals."
    if longer:
        said += " Intervals that leave the figure are longer."
    return Chart(
        number.name.replace(" ", "-"),
        number.heading[0].upper() + number.heading[1:],
        said,
        every,
        views,
        has_lines=False,
    )


_PLACES = {part: place for place, part in enumerate(PARTS)}
_TIME = Axis("time_ms", "response time, ms", is_log=True)
_DELAY = "The time that the link needs to send the queued packets."
_PROBABILITY = "The probability with which the law drops or marks a packet, if it has one."
