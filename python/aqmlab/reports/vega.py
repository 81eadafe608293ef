"""Charts of the report as Vega-Lite, in the colours and dashes of all other figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from aqmlab.reports.templating import shorten
from aqmlab.results.cells import BASELINE
from aqmlab.results.figures.charts import Axis, Lines
from aqmlab.ui import canvas

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The language of a spec, by its name: nothing is fetched from there."""

_HEIGHT = 320
_ROW = 24
"""Pixels of a bar and the room about it."""

_CELL, _FACET_WIDTH = 64, 600
"""Pixels of the width of a heat map's cell, and of all maps side by side."""

_MULTIPLE_WIDTH, _MULTIPLE_HEIGHT = 300, 180
"""The smallest width of a small multiple, and its height."""

_LIVE_HEIGHT = 220
"""The height of a figure of a run in progress: four of them are watched together."""

_SOLID = [1, 0]

INK = "currentColor"
"""The colour of the page's text."""

# The wheel without Ctrl and a finger scroll the page; the page's script zooms to where the pointer is dragged.
_ZOOM = {
    "name": "zoom",
    "bind": "scales",
    "select": {
        "type": "interval",
        "encodings": ["x"],
        "translate": "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!",
        "zoom": "wheel![event.ctrlKey]",
    },
}

_CONFIG = {
    "aria": False,
    # The page's own colours: a saved figure is black on white.
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "gridColor": "#8883",
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": "#888",
        "tickColor": "#888",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 150,
        "labelSeparation": 6,
    },
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold"},
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"},
}

Spec = dict[str, Any]
"""A chart, or a part of one, in the form of Vega-Lite."""


class VegaBuilder:
    """Builder of charts whose rows have the short name of a ``scheme``."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.names = shorten(labels)
        styles = canvas.LineStyles(BASELINE)
        styles.share_styles(labels)
        self.styles = {self.names[label]: _Style(styles[label]) for label in labels}

    def rows(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Concatenate the frames of schemes, rounded to six digits; the thin baseline is drawn last."""
        labels = sorted(frames, key=lambda label: label == BASELINE)
        shortened = [
            frames[label].with_columns(pl.selectors.float().round_sig_figs(6), scheme=pl.lit(self.names[label]))
            for label in labels
        ]
        return pl.concat(shortened, how="diagonal_relaxed") if shortened else pl.DataFrame()

    def lines(
        self, chart: Lines, *, band: bool = False, zero: bool = False, where: str = "true", behind: Axis | None = None
    ) -> Spec:
        """Draw a line for each scheme, with ``band`` its band, with ``zero`` the line at 0, and a grey area ``behind``.

        The area has rows of its own, without a scheme.
        """
        position = {"x": _channel(chart.x), "y": _channel(chart.y)}
        colour = {"color": self._style("colour")}
        line_style = {**colour, "strokeDash": self._style("dashes"), "strokeWidth": self._style("width")}
        layers: list[Spec] = []
        if zero:
            rule = {"type": "rule", "color": "#888"}
            zero_encoding = {"y": {"field": "at", "type": "quantitative"}}
            layers.append({"data": {"values": [{"at": 0}]}, "mark": rule, "encoding": zero_encoding})
        if band:
            bounds = {"x": _channel(chart.x), "y": _channel(chart.y, "low"), "y2": {"field": "high"}}
            layers.append(_layer({"type": "area", "opacity": 0.25}, {**bounds, **colour}))
        line = _layer({"type": "line", "strokeCap": "butt"}, {**position, **line_style})
        layers.append({**line, "params": [_ZOOM]})
        # The tooltips are those of invisible points: a line has none of its own.
        points = _layer(
            {"type": "point", "opacity": 0, "size": 60}, {**position, "tooltip": _tooltips(chart.x, chart.y)}
        )
        layers.append(points)
        if behind is None:
            return self._chart({"layer": layers}, where, _HEIGHT)
        area = _area(chart.x, behind)
        if behind.label == chart.y.label:
            return self._chart({"layer": [area, *layers]}, where, _HEIGHT)
        area["encoding"]["y"]["axis"] = {"orient": "right", "grid": False}
        parts = {"layer": [area, {"layer": layers}]}
        return self._chart({**parts, "resolve": {"scale": {"y": "independent"}}}, where, _HEIGHT)

    def multiples(
        self, chart: Mapping[str, Any], titles: Sequence[str], rows: pl.DataFrame, *, share_y: bool = True
    ) -> Spec:
        """Return the small multiples of a chart of lines, one for each ``panel``.

        All have the same axes, or each has its own vertical one, which its title names, above its horizontal one.
        """
        spec = _without_points(chart)
        if "resolve" in spec:
            # The areas behind the lines have an axis of their own, which Vega-Lite does not share among panels.
            area, lines = spec["layer"]
            spec["layer"] = [*_from_zero([area], rows), {"layer": _from_zero(lines["layer"], rows)}]
        if not share_y:
            untitled = {"title": None, "axis": {"minExtent": 48}}
            spec["layer"] = [
                {**layer, "encoding": {**layer["encoding"], "y": {**layer["encoding"]["y"], **untitled}}}
                for layer in spec["layer"]
            ]
        facet = {"field": "panel", "type": "nominal", "sort": list(titles), "title": None}
        inner = {name: spec[name] for name in ("layer", "resolve") if name in spec}
        rest = {name: part for name, part in chart.items() if name not in ("width", "height", "layer", "resolve")}
        resolve: Spec = {"scale": {"y": "shared" if share_y and "resolve" not in spec else "independent"}}
        if not share_y:
            # Plots of unequal widths do not stand above a common axis.
            resolve["axis"] = {"x": "independent"}
        size = {"width": _MULTIPLE_WIDTH, "height": _MULTIPLE_HEIGHT}
        return {**rest, "facet": facet, "columns": 1, "spec": {**size, **inner}, "resolve": resolve}

    def measured(self, chart: Lines, at: Sequence[float]) -> Spec:
        """Draw a line for each scheme through its values ``at`` some places of the horizontal axis, with its band."""
        spec = self.lines(chart, band=True)
        axis = {"values": list(at), "format": ",.3~r"}
        # The outermost points stand within the plot.
        scale = {"zero": False, "nice": False, "padding": 8}
        for layer in spec["layer"]:
            x = layer["encoding"]["x"]
            layer["encoding"]["x"] = {**x, "axis": axis, "scale": {**x["scale"], **scale}}
        points = spec["layer"][-1]
        points["mark"] = {"type": "point", "filled": True, "opacity": 1, "size": 40}
        points["encoding"]["color"] = self._style("colour")
        return spec

    def stream(self, chart: Lines, behind: Axis | None = None) -> Spec:
        """Draw rows that a page adds, a line for each scheme of ``series`` in the colours of all figures.

        A ``few`` rows are points: a line would suggest values between them. The page also has the row of
        ``unmeasured``, the time from ``start`` to ``end``, which is shaded.
        """
        own = {"color": {"field": "colour", "type": "nominal", "scale": None}, "detail": {"field": "scheme"}}
        position = {"x": _channel(chart.x), "y": _channel(chart.y)}
        time = {"x": _channel(chart.x, "start"), "x2": {"field": "end"}}
        shade = {"data": {"name": "unmeasured"}, **_layer({"type": "rect", "color": "#8883"}, time)}
        line = {**_layer({"type": "line"}, {**position, **own}), "params": [_ZOOM], "transform": [{"filter": "!few"}]}
        dots = _layer({"type": "point", "filled": True, "size": 60}, {**position, **own})
        points = {**dots, "transform": [{"filter": "few"}]}
        areas = []
        if behind is not None:
            area = _area(chart.x, behind)
            area["encoding"]["detail"] = own["detail"]
            areas.append(area)
        stream = self._chart({"layer": [shade, *areas, line, points]}, "true", _LIVE_HEIGHT)
        stream["params"] += [{"name": "few", "value": True}, {"name": "series", "value": []}]
        stream["params"].append({"name": "palette", "value": list(canvas.PALETTE)})
        colour = "palette[indexof(series, datum.scheme) % length(palette)]"
        stream["transform"].append({"calculate": colour, "as": "colour"})
        return {**stream, "datasets": {"unmeasured": []}}

    def parallel(self, axes: Sequence[str], ticks: Sequence[Mapping[str, Any]]) -> Spec:
        """Draw a line for each ``point`` across vertical axes, at the ``share`` of each; ``ticks`` name their values.

        Lines that are not ``chosen`` are faint.
        """
        axis = {"labelAngle": 0, "labelLimit": 120, "orient": "top", "domain": False, "ticks": False, "grid": False}
        axis |= {"labelPadding": 12, "labelFontWeight": "bold"}
        x: Spec = {"field": "axis", "type": "ordinal", "sort": list(axes), "title": None, "axis": axis}
        x["scale"] = {"type": "point", "padding": 0.4}
        y = {"field": "share", "type": "quantitative", "axis": None, "scale": {"domain": [0, 1], "nice": False}}
        is_chosen = "!length(chosen) || indexof(chosen, datum.point) >= 0"
        lines = {
            "color": self._style("colour"),
            "strokeDash": self._style("dashes"),
            "detail": {"field": "point"},
            "opacity": {"condition": {"test": is_chosen, "value": 0.75}, "value": 0.06},
            "tooltip": {"field": "point", "title": "line"},
        }
        values = {"data": {"values": list(ticks)}, "encoding": {"x": x, "y": y, "text": {"field": "text"}}}
        whole_axes = [{"axis": name, "share": 0, "top": 1} for name in axes]
        rules = {"data": {"values": whole_axes}, "encoding": {"x": x, "y": y, "y2": {"field": "top"}}}
        layers = [
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"x": x, "y": y, **lines}},
            {**rules, "mark": {"type": "rule", "color": "#888"}},
            {**values, "mark": {"type": "text", "align": "left", "dx": 5, "color": INK, "fontSize": 11}},
        ]
        chart = self._chart({"layer": layers}, "true", _HEIGHT)
        # The values at the axes belong to all schemes.
        shown = chart.pop("transform")
        layers[0]["transform"] = shown
        chart["params"].append({"name": "chosen", "value": []})
        return chart

    def bars(self, x: Axis, *, whiskers: bool, where: str) -> Spec:
        """Draw a bar for each scheme, with ``whiskers`` also its interval from ``low`` to ``high``."""
        tooltips = _tooltips(x)
        layers = [
            _layer(
                {"type": "bar", "opacity": 0.85},
                {"x": _channel(x), "y": self._row, "color": self._style("colour"), "tooltip": tooltips},
            )
        ]
        if whiskers:
            tooltips += [_tooltip(Axis(bound, f"95 % interval, {bound}")) for bound in ("low", "high")]
            bounds = {"x": _channel(x, "low"), "x2": {"field": "high"}, "y": self._row}
            layers.append(_layer({"type": "rule", "strokeWidth": 2, "color": INK}, bounds))
        return self._chart({"layer": layers}, where, _ROW * len(self.styles))

    def stack(self, x: Axis, colours: Mapping[str, str], *, where: str) -> Spec:
        """Draw a bar for each scheme, stacked of its ``part``s in the order of their ``place``."""
        scale = {"domain": list(colours), "range": list(colours.values())}
        encoding = {
            "x": _channel(x),
            "y": self._row,
            "color": {"field": "part", "type": "nominal", "scale": scale, "legend": None},
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [*_tooltips(), {"field": "part", "type": "nominal"}, _tooltip(x)],
        }
        return self._chart({"mark": "bar", "encoding": encoding}, where, _ROW * len(self.styles))

    def density(self, x: Axis, y: Axis, share: Axis, scheme: str) -> Spec:
        """Draw the share in each cell of a plane, for one scheme; a cell ends at the columns with ``_to``."""
        encoding = {
            "x": _channel(x),
            "x2": {"field": f"{x.column}_to"},
            "y": _channel(y),
            "y2": {"field": f"{y.column}_to"},
            "color": {**_channel(share), "scale": {"type": "log", "scheme": "blues"}},
            "tooltip": [_tooltip(axis) for axis in (x, y, share)],
        }
        return self._chart({"mark": "rect", "encoding": encoding}, {"field": "scheme", "equal": scheme}, _HEIGHT)

    def heat_maps(
        self, x: tuple[str, Sequence[str]], y: tuple[str, Sequence[str]], value: Axis, values: Sequence[float]
    ) -> Spec:
        """Draw a map for each scheme over two axes, given as titles and values, with the numbers in its cells."""
        orders = {"x": list(x[1]), "y": list(y[1])[::-1]}
        position: Spec = {
            name: {"field": name, "type": "ordinal", "sort": orders[name], "title": title, "axis": {"labelAngle": 0}}
            for name, title in (("x", x[0]), ("y", y[0]))
        }
        colour = {"field": value.column, "type": "quantitative", "title": value.label, "scale": {"scheme": "blues"}}
        tooltips = [*_tooltips(), *({"field": name, "title": title} for name, (title, _) in (("x", x), ("y", y)))]
        # White reads better on the darker colours.
        from_dark = min(values) + 0.6 * (max(values) - min(values))
        text_colour = {"condition": {"test": f"datum.{value.column} > {from_dark}", "value": "white"}, "value": "black"}
        text = {"field": value.column, "type": "quantitative", "format": ",.3~r"}
        size = {"width": _CELL * len(x[1]), "height": _CELL * 0.6 * len(y[1])}
        layers = [
            {"mark": "rect", "encoding": {"color": colour, "tooltip": [*tooltips, _tooltip(value)]}},
            {"mark": {"type": "text", "fontSize": 12}, "encoding": {"text": text, "color": text_colour}},
        ]
        facet = {"field": "scheme", "type": "nominal", "sort": list(self.styles), "title": None}
        spec = {**size, "encoding": position, "layer": layers}
        chart = self._chart({"facet": facet, "columns": max(1, _FACET_WIDTH // size["width"]), "spec": spec}, "true", 0)
        return {name: part for name, part in chart.items() if name not in ("width", "height")}

    @property
    def _row(self) -> Spec:
        return {"field": "scheme", "type": "nominal", "title": None, "sort": list(self.styles)}

    def _style(self, name: str) -> Spec:
        """Return a channel that has a value of its own for each scheme."""
        schemes = list(self.styles)
        scale = {"domain": schemes, "range": [getattr(style, name) for style in self.styles.values()]}
        return {"field": "scheme", "type": "ordinal", "sort": schemes, "scale": scale, "legend": None}

    def _chart(self, marks: Spec, where: str | Spec, height: int) -> Spec:
        """Complete a spec: the page supplies its rows, and the schemes that are ``shown``."""
        return {
            "$schema": _SCHEMA,
            "config": _CONFIG,
            "data": {"name": "rows"},
            "params": [{"name": "shown", "value": list(self.styles)}],
            "transform": [{"filter": where}, {"filter": "!datum.scheme || indexof(shown, datum.scheme) >= 0"}],
            "width": "container",
            "height": height,
            **marks,
        }


class _Style:
    """A line of the canvas, in pixels."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        dashes = line.get("linestyle", "-")
        self.colour: str = INK if line["color"] == "black" else line["color"]
        self.width: float = line["linewidth"]
        # The canvas counts dashes in widths of their line.
        self.dashes = _SOLID if dashes == "-" else [round(self.width * length, 1) for length in dashes[1]]


def _area(x: Axis, y: Axis) -> Spec:
    """Return a grey area of the rows that have a value of ``y``, which lasts until the next row."""
    mark = {"type": "area", "interpolate": "step-after", "color": "#8883"}
    return {
        "transform": [{"filter": f"isValid(datum.{y.column})"}],
        **_layer(mark, {"x": _channel(x), "y": _channel(y)}),
    }


def _without_points(spec: Mapping[str, Any]) -> Spec:
    """Return a chart without its invisible points, which are too many in small multiples."""
    layers = [_without_points(layer) if "layer" in layer else layer for layer in spec["layer"]]
    return {**spec, "layer": [layer for layer in layers if layer.get("mark", {}).get("opacity") != 0]}


def _from_zero(layers: Sequence[Spec], rows: pl.DataFrame) -> list[Spec]:
    """Return layers whose vertical axis reaches from 0 to the largest of their values."""
    encodings = [layer["encoding"] for layer in layers]
    columns = {encoding[name]["field"] for encoding in encodings for name in ("y", "y2") if name in encoding}
    domain = [0, max(rows.select(pl.col(column).max() for column in columns).row(0))]
    return [
        {
            **layer,
            "encoding": {**encoding, "y": {**encoding["y"], "scale": {**encoding["y"]["scale"], "domain": domain}}},
        }
        for layer, encoding in zip(layers, encodings, strict=True)
    ]


def _layer(mark: Spec, encoding: Spec) -> Spec:
    return {"mark": {**mark, "clip": True}, "encoding": encoding}


def _channel(axis: Axis, column: str | None = None) -> Spec:
    """Return an axis for a channel of a mark; another column can share it."""
    scale = {"type": "log", "nice": False} if axis.is_log else {}
    domain = {"domain": axis.limits} if axis.limits else {}
    field = {"field": column or axis.column, "type": "quantitative"}
    return {**field, "title": axis.label, "scale": {**scale, **domain}}


def _tooltips(*axes: Axis) -> list[Spec]:
    """Return the lines of a tooltip: the scheme, and the value on each axis."""
    return [{"field": "scheme", "type": "nominal"}, *map(_tooltip, axes)]


def _tooltip(axis: Axis) -> Spec:
    return {"field": axis.column, "type": "quantitative", "title": axis.label, "format": ",.4~r"}
