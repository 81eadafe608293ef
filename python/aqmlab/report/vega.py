"""Charts of the report as Vega-Lite, in the colours and dashes of all other figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from aqmlab.report import names
from aqmlab.results.cells import BASELINE
from aqmlab.ui import canvas

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The language of a spec, by its name: nothing is fetched from there."""

_HEIGHT = 320
_ROW = 24
"""Pixels of a bar and the room about it."""

_SOLID = [1, 0]

# The wheel without Ctrl and a finger scroll the page.
_ZOOM = {
    "name": "zoom",
    "bind": "scales",
    "select": {
        "type": "interval",
        "translate": "[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!",
        "zoom": "wheel![event.ctrlKey]",
    },
}

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
        "titleFontWeight": "normal",
        "labelLimit": 150,
        "labelSeparation": 6,
    },
}

Spec = dict[str, Any]
"""A chart, or a part of one, in the form of Vega-Lite."""


@dataclass(frozen=True)
class Axis:
    """A column of the rows, and how an axis shows it."""

    field: str
    title: str
    is_log: bool = False
    domain: tuple[float, float] | None = None

    def channel(self, field: str | None = None) -> Spec:
        """Return the axis for a channel of a mark; another column can share the axis."""
        scale: Spec = {"type": "log", "nice": False} if self.is_log else {}
        if self.domain:
            scale = {"domain": self.domain}
        return {"field": field or self.field, "type": "quantitative", "title": self.title, "scale": scale}

    @property
    def tooltip(self) -> Spec:
        """The column's line beside the pointer."""
        return _tooltip(self.field, self.title)


class VegaBuilder:
    """Builder of charts whose rows have the short name of a ``scheme``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.names = names.short(labels)
        styles = canvas.LineStyles(BASELINE)
        styles.together(labels)
        self.styles = {self.names[label]: _Style(styles[label]) for label in labels}

    def rows(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Concatenate the frames of schemes, rounded to six digits; the thin baseline is drawn last."""
        labels = sorted(frames, key=lambda label: label == BASELINE)
        short = [
            frames[label].with_columns(pl.selectors.float().round_sig_figs(6), scheme=pl.lit(self.names[label]))
            for label in labels
        ]
        return pl.concat(short, how="diagonal_relaxed") if short else pl.DataFrame()

    def lines(self, x: Axis, y: Axis, *, band: bool = False, zero: bool = False, where: str = "true") -> Spec:
        """Draw a line for each scheme, with ``band`` also the band from ``low`` to ``high``."""
        place = {"x": x.channel(), "y": y.channel()}
        colour = {"color": self._style("colour")}
        look = {**colour, "strokeDash": self._style("dashes"), "strokeWidth": self._style("width")}
        layers: list[Spec] = []
        if zero:
            rule = {"type": "rule", "color": "#666"}
            at = {"y": {"field": "at", "type": "quantitative"}}
            layers.append({"data": {"values": [{"at": 0}]}, "mark": rule, "encoding": at})
        if band:
            ends = {"x": x.channel(), "y": y.channel("low"), "y2": {"field": "high"}}
            layers.append(_layer({"type": "area", "opacity": 0.25}, {**ends, **colour}))
        layers.append(_layer({"type": "line", "strokeCap": "butt"}, {**place, **look}))
        # The tooltips are those of invisible points: a line has none of its own.
        points = _layer({"type": "point", "opacity": 0, "size": 60}, {**place, "tooltip": _tooltips(x, y)})
        layers.append({**points, "params": [_ZOOM]})
        return self._chart({"layer": layers}, where, _HEIGHT)

    def bars(self, x: Axis, *, whiskers: bool, where: str) -> Spec:
        """Draw a bar for each scheme, with ``whiskers`` also its interval from ``low`` to ``high``."""
        tooltips = _tooltips(x)
        layers = [
            _layer(
                {"type": "bar", "opacity": 0.85},
                {"x": x.channel(), "y": self._row, "color": self._style("colour"), "tooltip": tooltips},
            )
        ]
        if whiskers:
            tooltips += [_tooltip(bound, f"95 % interval, {bound}") for bound in ("low", "high")]
            ends = {"x": x.channel("low"), "x2": {"field": "high"}, "y": self._row}
            layers.append(_layer({"type": "rule", "strokeWidth": 2}, ends))
        return self._chart({"layer": layers}, where, _ROW * len(self.styles))

    def stack(self, x: Axis, colours: Mapping[str, str], *, where: str) -> Spec:
        """Draw a bar for each scheme, stacked of its ``part``s in the order of their ``place``."""
        scale = {"domain": list(colours), "range": list(colours.values())}
        encoding = {
            "x": x.channel(),
            "y": self._row,
            "color": {"field": "part", "type": "nominal", "scale": scale, "legend": None},
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [*_tooltips(), {"field": "part", "type": "nominal"}, x.tooltip],
        }
        return self._chart({"mark": "bar", "encoding": encoding}, where, _ROW * len(self.styles))

    def density(self, x: Axis, y: Axis, share: Axis, scheme: str) -> Spec:
        """Draw the share in each cell of a plane, for one scheme; a cell ends at the columns with ``_to``."""
        encoding = {
            "x": x.channel(),
            "x2": {"field": f"{x.field}_to"},
            "y": y.channel(),
            "y2": {"field": f"{y.field}_to"},
            "color": {**share.channel(), "scale": {"type": "log", "scheme": "blues"}},
            "tooltip": [x.tooltip, y.tooltip, share.tooltip],
        }
        return self._chart({"mark": "rect", "encoding": encoding}, {"field": "scheme", "equal": scheme}, _HEIGHT)

    @property
    def _row(self) -> Spec:
        return {"field": "scheme", "type": "nominal", "title": None, "sort": list(self.styles)}

    def _style(self, name: str) -> Spec:
        """Return a channel that has a value of its own for each scheme."""
        schemes = list(self.styles)
        scale = {"domain": schemes, "range": [getattr(style, name) for style in self.styles.values()]}
        return {"field": "scheme", "type": "ordinal", "sort": schemes, "scale": scale, "legend": None}

    def _chart(self, drawn: Spec, where: str | Spec, height: int) -> Spec:
        """Complete a spec: the page supplies its rows, and the schemes that are ``shown``."""
        return {
            "$schema": _SCHEMA,
            "config": _CONFIG,
            "data": {"name": "rows"},
            "params": [{"name": "shown", "value": list(self.styles)}],
            "transform": [{"filter": where}, {"filter": "indexof(shown, datum.scheme) >= 0"}],
            "width": "container",
            "height": height,
            **drawn,
        }


class _Style:
    """A line of the canvas, in pixels."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        dashes = line.get("linestyle", "-")
        self.colour: str = line["color"]
        self.width: float = line["linewidth"]
        # The canvas counts dashes in widths of their line.
        self.dashes = _SOLID if dashes == "-" else [round(self.width * each, 1) for each in dashes[1]]


def _layer(mark: Spec, encoding: Spec) -> Spec:
    return {"mark": {**mark, "clip": True}, "encoding": encoding}


def _tooltips(*axes: Axis) -> list[Spec]:
    """Return the lines beside the pointer: the scheme, and the value on each axis."""
    return [{"field": "scheme", "type": "nominal"}, *(axis.tooltip for axis in axes)]


def _tooltip(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "format": ",.4~r"}
