"""How the report draws: lines and bars of schemes as Vega-Lite, in the colours and dashes of the other figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from aqmlab.report import names
from aqmlab.results.cells import BASELINE
from aqmlab.show import canvas

_HEIGHT = 320
_ROW = 24
"""Pixels of a bar and the room about it."""

_SOLID = [1, 0]

# The wheel alone scrolls the page, and so does a finger.
_DRAG = "[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!"
_WHEEL = "wheel![event.ctrlKey]"

_CONFIG = {
    "aria": False,
    "background": "white",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "gridColor": "#e5e5e5",
        "domainColor": "#888",
        "tickColor": "#888",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    | {"titleFontWeight": "normal", "labelLimit": 150, "labelSeparation": 6},
}


@dataclass(frozen=True)
class Axis:
    """What an axis shows."""

    field: str
    title: str
    is_log: bool = False
    domain: tuple[float, float] | None = None

    def on(self, channel: Any, field: str | None = None) -> Any:
        """Put it on a channel of a mark; another field may stand on the same axis."""
        import altair as alt

        scale = alt.Scale(type="log", nice=False) if self.is_log else alt.Scale()
        if self.domain:
            scale = alt.Scale(domain=self.domain)
        return channel(f"{field or self.field}:Q", title=self.title, scale=scale)

    def told(self) -> Any:
        """Tell its value beside the pointer."""
        import altair as alt

        return alt.Tooltip(f"{self.field}:Q", title=self.title, format=",.4~r")


class Pen:
    """Draws rows that have the short name of a ``scheme``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.names = names.short(labels)
        styles = canvas.LineStyles(BASELINE)
        styles.together(labels)
        self.styles = {self.names[label]: _Style(styles[label]) for label in labels}

    def rows(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Put schemes below one another; more than six digits are for nobody, and the thin baseline is drawn last."""
        labels = sorted(frames, key=lambda label: label == BASELINE)
        short = [
            frames[label].with_columns(pl.selectors.float().round_sig_figs(6), scheme=pl.lit(self.names[label]))
            for label in labels
        ]
        return pl.concat(short, how="diagonal_relaxed") if short else pl.DataFrame()

    def lines(self, x: Axis, y: Axis, *, band: bool = False, zero: bool = False, where: str = "true") -> dict[str, Any]:
        """Draw a line a scheme, each with its band from ``low`` to ``high`` if that is wanted."""
        import altair as alt

        colour = self._of("color", "colour")
        layers: list[Any] = []
        if zero:
            layers.append(alt.Chart(alt.InlineData([{"at": 0}])).mark_rule(color="#666").encode(y="at:Q"))
        if band:
            area = alt.Chart().mark_area(opacity=0.25, clip=True)
            layers.append(area.encode(x.on(alt.X), y.on(alt.Y, "low"), alt.Y2("high:Q"), colour))
        line = alt.Chart().mark_line(clip=True, strokeCap="butt")
        place = (x.on(alt.X), y.on(alt.Y))
        layers.append(line.encode(*place, colour, self._of("strokeDash", "dashes"), self._of("strokeWidth", "width")))
        # A line tells of itself where its points are, which are too many to be seen.
        points = alt.Chart().mark_point(opacity=0, size=60, clip=True)
        zoom = alt.selection_interval(bind="scales", translate=_DRAG, zoom=_WHEEL)
        layers.append(points.encode(*place, tooltip=[alt.Tooltip("scheme:N"), x.told(), y.told()]).add_params(zoom))
        return self._spec(alt.layer(*layers).transform_filter(where), _HEIGHT)

    def bars(self, x: Axis, *, whiskers: bool, where: str) -> dict[str, Any]:
        """Draw a bar a scheme, and its interval from ``low`` to ``high``."""
        import altair as alt

        y = alt.Y("scheme:N", title=None, sort=list(self.styles))
        told = [alt.Tooltip("scheme:N"), x.told()]
        if whiskers:
            told += [
                alt.Tooltip(f"{bound}:Q", title=f"95 % interval, {bound}", format=",.4~r") for bound in ("low", "high")
            ]
        bars = (
            alt.Chart()
            .mark_bar(opacity=0.85, clip=True)
            .encode(x.on(alt.X), y, self._of("color", "colour"), tooltip=told)
        )
        lines = alt.Chart().mark_rule(strokeWidth=2, clip=True).encode(x.on(alt.X, "low"), alt.X2("high:Q"), y)
        layers = alt.layer(bars, *([lines] if whiskers else [])).transform_filter(where)
        return self._spec(layers, _ROW * len(self.styles))

    def stack(self, x: Axis, colours: Mapping[str, str], *, where: str) -> dict[str, Any]:
        """Draw a bar a scheme, put together of every ``part`` in the order of its ``place``."""
        import altair as alt

        told = [alt.Tooltip("scheme:N"), alt.Tooltip("part:N"), x.told()]
        scale = alt.Scale(domain=list(colours), range=list(colours.values()))
        place = {"y": alt.Y("scheme:N", title=None, sort=list(self.styles)), "order": alt.Order("place:Q")}
        bars = alt.Chart().mark_bar().encode(x.on(alt.X), color=alt.Color("part:N", scale=scale, legend=None), **place)
        return self._spec(bars.encode(tooltip=told).transform_filter(where), _ROW * len(self.styles))

    def density(self, x: Axis, y: Axis, of: Axis, scheme: str) -> dict[str, Any]:
        """Draw how much lies in each cell of a plane, for one scheme, from a corner to that at ``_to``."""
        import altair as alt

        colour = alt.Color(f"{of.field}:Q", title=of.title, scale=alt.Scale(type="log", scheme="blues"))
        corners = {"x2": alt.X2(f"{x.field}_to:Q"), "y2": alt.Y2(f"{y.field}_to:Q")}
        cells = alt.Chart().mark_rect().encode(x.on(alt.X), y.on(alt.Y), color=colour, **corners)
        told = [each.told() for each in (x, y, of)]
        return self._spec(
            cells.encode(tooltip=told).transform_filter(alt.FieldEqualPredicate(field="scheme", equal=scheme)), _HEIGHT
        )

    def _of(self, channel: str, style: str) -> Any:
        import altair as alt

        kind = {"color": alt.Color, "strokeDash": alt.StrokeDash, "strokeWidth": alt.StrokeWidth}[channel]
        values = [getattr(each, style) for each in self.styles.values()]
        names = list(self.styles)
        return kind("scheme:O", sort=names, scale=alt.Scale(domain=names, range=values), legend=None)

    def _spec(self, chart: Any, height: Any) -> dict[str, Any]:
        """Finish a spec: its rows come from the page, and so does which schemes are shown."""
        import altair as alt

        chart = chart.properties(data=alt.NamedData("rows"), width="container", height=height)
        chart = chart.add_params(alt.param(name="shown", value=list(self.styles)))
        spec: dict[str, Any] = chart.transform_filter("indexof(shown, datum.scheme) >= 0").to_dict()
        return {**spec, "config": _CONFIG}


class _Style:
    """A line of the canvas, in pixels."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        dashes = line.get("linestyle", "-")
        self.colour: str = line["color"]
        self.width: float = line["linewidth"]
        # The canvas counts dashes in widths of their line.
        self.dashes = _SOLID if dashes == "-" else [round(self.width * each, 1) for each in dashes[1]]
