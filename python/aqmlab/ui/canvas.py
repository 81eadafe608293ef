"""The frame of all figures: files, colours and dashes of lines, legends, and the format of numbers.

The same data give identical files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatter, ScalarFormatter

from aqmlab.ui import output_files

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette for colour-blind readers; further lines repeat the colours with other dashes."""

_DASHES = (
    "-",
    (0, (4, 1.2)),
    (0, (1.2, 1)),
    (0, (6, 1.2, 1.2, 1.2)),
    (0, (2.4, 1.2)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
"""Dashes distinguish lines in addition to colours, for print and for colour-blind readers."""

_STYLES = [(colour, (colour + turn) % len(_DASHES)) for turn in range(len(_DASHES)) for colour in range(len(PALETTE))]
"""All combinations of colour and dashes, by their indices."""

_MAX_WIDTH, _MIN_WIDTH = 2.8, 1.3
"""Line widths in points. Later lines are thinner, so that a coinciding lower line stays visible."""

_SIZE = (8, 4.5)
"""The size of a figure in inches."""

_RC: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "aqmlab",
    # Text is not converted to paths: it can be searched and copied, and files are small.
    "svg.fonttype": "none",
    # A dollar sign in a scheme must not begin mathematics.
    "text.parse_math": False,
    "legend.frameon": False,
    "legend.handlelength": 3,
}
"""The style of all figures."""

_TIME_KEYS = {"svg": "Date", "png": "Software", "pdf": "CreationDate"}
"""The metadata of each file format that would contain a date or a version."""

GROUPED = FuncFormatter(lambda value, _: f"{value:,.12g}")
"""The format of numbers with grouped thousands, as in text: 1,000."""


class _GroupedDecades(LogFormatter):
    """Writes 1,000 instead of a power of ten on a logarithmic axis; the choice of labelled ticks stays the same."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,.12g}" if super().__call__(x, pos) else ""


def save(stem: Path, draw: Callable[[Axes], Axes], *, title: str) -> list[Path]:
    """Draw a figure of one axis and write it as SVG and PNG; return the files."""

    def draw_titled(figure: Figure) -> None:
        draw(figure.subplots()).set_title(title, loc="left", fontsize=10)

    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("svg", "png")]
    _write(files, draw_titled, size=_SIZE)
    return files


def write(file: Path, draw: Callable[[Figure], None], *, size: tuple[float, float] = _SIZE) -> None:
    """Draw a figure and write it in the format of the file's suffix."""
    _write([file], draw, size=size)


def _write(files: Sequence[Path], draw: Callable[[Figure], None], *, size: tuple[float, float]) -> None:
    """Draw a figure once, and write it in the formats of the files' suffixes."""
    kinds = [check_kind(file) for file in files]
    with mpl.rc_context(_RC):
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout)
        draw(figure)
        for axis in figure.axes:
            _format_numbers(axis)
        _make_room(figure)
        # Compute the layout once for all formats: it takes longer than writing them.
        layout.execute(figure)
        figure.set_layout_engine(None)
        for file, kind in zip(files, kinds, strict=True):
            with output_files.opened(file) as out:
                figure.savefig(out, format=kind, dpi=160, metadata={_TIME_KEYS[kind]: None})


class LineStyles:
    """Colour, width and dashes of each scheme's line, the same in every figure.

    Lines of one figure have different colours and different dashes as long as there are enough. The baseline is thin,
    black and above the others, which are visible on both sides of it.
    """

    def __init__(self, baseline: str) -> None:
        self.baseline = baseline
        self._neighbours: dict[str, set[str]] = {}
        self._styles_by_label: dict[str, tuple[int, int]] = {}

    def share_styles(self, labels: Iterable[str]) -> None:
        """Give lines that share a figure different styles; call it for all figures before the first is drawn."""
        lines = [label for label in labels if label != self.baseline]
        for label in lines:
            self._neighbours.setdefault(label, set()).update(lines)

    def __getitem__(self, label: str) -> dict[str, Any]:
        if label == self.baseline:
            return {"color": "black", "linewidth": 0.8, "zorder": 3}
        for other in self._neighbours:
            if other not in self._styles_by_label:
                self._styles_by_label[other] = self._choose_style(other)
        colour, dashes = self._styles_by_label[label]
        return {
            "color": PALETTE[colour],
            "linewidth": max(_MIN_WIDTH, _MAX_WIDTH - 0.4 * colour),
            "linestyle": _DASHES[dashes],
            "dash_capstyle": "butt",
            # Thin and dashed lines are above thick ones, which they do not hide.
            "zorder": 2 + colour / 10 + dashes / 100,
        }

    def _choose_style(self, label: str) -> tuple[int, int]:
        """Return the colour and dashes that are rarest in the figures of this line, and then in all figures."""
        used = [self._styles_by_label[other] for other in self._neighbours[label] if other in self._styles_by_label]

        def rarity(style: tuple[int, int]) -> tuple[int, int, int]:
            colours, dashes = zip(*used, strict=True) if used else ((), ())
            return colours.count(style[0]), dashes.count(style[1]), list(self._styles_by_label.values()).count(style)

        return min(_STYLES, key=rarity)


def check_writable(file: Path) -> None:
    """Raise the error that writing a figure would raise: ``ValueError`` for its format, ``OSError`` for its path."""
    check_kind(file)
    output_files.check(file)


def check_kind(file: Path) -> str:
    """Return the format of a figure from its file's suffix, or raise a ``ValueError`` that lists the formats."""
    kind = file.suffix.removeprefix(".")
    if kind not in _TIME_KEYS:
        raise ValueError(f"a figure is one of {', '.join(_TIME_KEYS)}, got {file.name!r}")
    return kind


def legend_inside(axis: Axes, *, colour: str = "linecolor") -> Axes:
    """Add a legend inside the axis where it hides least, in the order of the lines from top to bottom."""
    axis.legend(handles=_lines_from_top(axis), loc="best", labelcolor=colour)
    return axis


def legend_right(target: Axes | Figure, lines: Sequence[Artist], *, colour: str = "linecolor") -> None:
    """Add a legend at the right of an axis, or at the right of all panels of a figure with the same lines."""
    if isinstance(target, Axes):
        target.legend(handles=lines, loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=colour)
    else:
        target.legend(handles=lines, loc="outside right center", labelcolor=colour)


def label_lines(axis: Axes) -> Axes:
    """Name the lines at the right of the axis, from top to bottom as they lie in it; empty lines come last."""
    legend_right(axis, _lines_from_top(axis))
    return axis


def _lines_from_top(axis: Axes) -> list[Line2D]:
    positions = np.linspace(0, 1, 200)

    def height(line: Line2D) -> float:
        if np.size(line.get_xdata()) == 0:
            return -1.0
        x, y = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata())).T
        return float(np.interp(positions, x, y).clip(0, 1).mean())

    return sorted(axis.get_lines(), key=height, reverse=True)


def _format_numbers(axis: Axes) -> None:
    """Group thousands and write out powers of ten, on all axes without a format of their own."""
    for axis_part in (axis.xaxis, axis.yaxis):
        for is_minor, formatter in ((False, axis_part.get_major_formatter()), (True, axis_part.get_minor_formatter())):
            set_formatter = axis_part.set_minor_formatter if is_minor else axis_part.set_major_formatter
            if isinstance(formatter, LogFormatter):
                set_formatter(
                    _GroupedDecades(labelOnlyBase=formatter.labelOnlyBase, minor_thresholds=formatter.minor_thresholds)
                )
            elif isinstance(formatter, ScalarFormatter) and not is_minor:
                set_formatter(GROUPED)


def _make_room(figure: Figure) -> None:
    """Enlarge a figure if its legends exceed their share: labels can be as long as a user's schemes."""
    width, height = figure.get_size_inches()
    outer = [(legend, 0.4) for axis in figure.axes if (legend := axis.get_legend()) is not None]
    extra_width = extra_height = 0.0
    # A legend of a figure must not make its panels smaller.
    for legend, share in (*outer, *((legend, 0.0) for legend in figure.legends)):
        size = legend.get_window_extent()
        extra_width = max(extra_width, size.width / figure.dpi - share * width)
        extra_height = max(extra_height, size.height / figure.dpi - 0.9 * height)
    figure.set_size_inches(width + extra_width, height + extra_height)
