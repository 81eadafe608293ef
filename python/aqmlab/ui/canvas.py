"""The frame of all figures: files, colours and dashes of lines, legends, and the format of numbers.

The same data give identical files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.font_manager
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

_PREFERRED = {"codel": 0, "droptail": 1, "fq_codel": 2, "pi": 3, "pie": 3, "red": 4, "ared": 4, "cake": 5, "dualpi2": 5}
"""The colours of disciplines in all figures, unless another scheme of the figure has the colour. Ours."""

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

line_scale: ContextVar[float] = ContextVar("line_scale", default=1.0)
"""The factor of all line widths: a figure of one column has thinner lines."""

labels_directly: ContextVar[bool] = ContextVar("labels_directly", default=False)
"""True if lines are named at their ends, where there is room."""

_SIZE = (8, 4.5)
"""The size of a figure in inches."""

FRAME: dict[Any, Any] = {
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
"""The frame of all figures, as parameters of matplotlib."""

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
    with mpl.rc_context(FRAME):
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout)
        draw(figure)
        for axis in figure.axes:
            format_numbers(axis)
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
            return {"color": "black", "linewidth": 0.8 * line_scale.get(), "zorder": 3}
        if label not in self._styles_by_label:
            # The colours of disciplines, unless that gives lines of one figure the same colour.
            self._styles_by_label = min((self._choose_styles(own) for own in (True, False)), key=self._clashes)
        colour, dashes = self._styles_by_label[label]
        return {
            "color": PALETTE[colour],
            "linewidth": line_scale.get() * max(_MIN_WIDTH, _MAX_WIDTH - 0.4 * colour),
            "linestyle": _DASHES[dashes],
            "dash_capstyle": "butt",
            # Thin and dashed lines are above thick ones, which they do not hide.
            "zorder": 2 + colour / 10 + dashes / 100,
        }

    def _choose_styles(self, has_own: bool) -> dict[str, tuple[int, int]]:
        """Return the styles of all lines; disciplines come first if they have colours of their own."""
        styles = dict(self._styles_by_label)
        for label in sorted(self._neighbours, key=lambda label: has_own and _preferred(label) is None):
            if label not in styles:
                styles[label] = self._choose_style(label, styles, _preferred(label) if has_own else None)
        return styles

    def _clashes(self, styles: Mapping[str, tuple[int, int]]) -> int:
        """Count the pairs of lines of one figure with the same colour."""
        pairs = ((label, other) for label, others in self._neighbours.items() for other in others if other != label)
        return sum(styles[label][0] == styles[other][0] for label, other in pairs)

    def _choose_style(
        self, label: str, styles: Mapping[str, tuple[int, int]], preferred: int | None
    ) -> tuple[int, int]:
        """Return the rarest colour and dashes in the figures of this line; of equal ones its own, or the rarest."""
        used = [styles[other] for other in self._neighbours[label] if other in styles]

        def rarity(style: tuple[int, int]) -> tuple[int, int, bool, int]:
            colours, dashes = zip(*used, strict=True) if used else ((), ())
            is_other = style != (preferred, preferred)
            return colours.count(style[0]), dashes.count(style[1]), is_other, list(styles.values()).count(style)

        return min(_STYLES, key=rarity)


def _preferred(label: str) -> int | None:
    """Return the index of the colour of a label's discipline."""
    return _PREFERRED.get(label.partition(" ")[0].partition(":")[0])


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


def label_directly(axis: Axes) -> bool:
    """Name the lines at their right ends, if these are far enough from each other; return whether they are.

    Dots without a line have no end.

    The layout has to leave room at the right, as the constrained layout does.
    """
    lines = [
        line for line in axis.get_lines() if np.size(line.get_xdata()) and not str(line.get_label()).startswith("_")
    ]
    # Asking for the limits makes matplotlib compute them.
    axis.get_xlim(), axis.get_ylim()
    size = float(mpl.font_manager.FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size_in_points())
    ends = [_right_end(axis, line) for line in lines]
    height_in = axis.get_window_extent().height / axis.figure.dpi
    gaps = np.diff(sorted(y for _, y in ends))
    if (
        not lines
        or any(line.get_linestyle() == "None" for line in lines)
        or any(abs(x - ends[0][0]) > 0.02 for x, _ in ends)
        or any(gaps < 1.25 * size / 72 / height_in)
    ):
        return False
    for line, end in zip(lines, ends, strict=True):
        axis.annotate(
            str(line.get_label()),
            end,
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            verticalalignment="center",
            color=line.get_color(),
            size=size,
        )
    return True


def _right_end(axis: Axes, line: Line2D) -> tuple[float, float]:
    """Return the last point of a line within the axis, in fractions of it."""
    points = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata()))
    x, y = max((point for point in points if np.isfinite(point).all() and point[0] < 1.001), key=lambda point: point[0])
    return float(x), float(y)


def _lines_from_top(axis: Axes) -> list[Line2D]:
    positions = np.linspace(0, 1, 200)

    def height(line: Line2D) -> float:
        if np.size(line.get_xdata()) == 0:
            return -1.0
        x, y = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata())).T
        return float(np.interp(positions, x, y).clip(0, 1).mean())

    # As for matplotlib, a label that begins with _ is no name.
    named = (line for line in axis.get_lines() if not str(line.get_label()).startswith("_"))
    return sorted(named, key=height, reverse=True)


def format_numbers(axis: Axes) -> None:
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
