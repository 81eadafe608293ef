"""What figures are drawn on: their files, the colours and dashes of lines, legends, and how numbers are written.

The same data give the same files, to the byte.
"""

from __future__ import annotations

import textwrap
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
"""Okabe and Ito's colours, which colour-blind readers can tell apart; beyond six they come again, with other dashes."""

_DASHES = (
    "-",
    (0, (4, 1.2)),
    (0, (1.2, 1)),
    (0, (6, 1.2, 1.2, 1.2)),
    (0, (2.4, 1.2)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
"""Lines differ by their dashes as well as by colour, for print and for eyes that tell no colours apart."""

_STYLES = [(colour, (colour + turn) % len(_DASHES)) for turn in range(len(_DASHES)) for colour in range(len(PALETTE))]
"""Colours with dashes, by their places."""

_THICKEST, _THINNEST = 2.8, 1.3
"""Points: later lines are thinner, so that of two that coincide the lower one shows at the edges and in the gaps."""

_SIZE = (8, 4.5)
"""Inches."""

NARROW = (4, 3)
"""Inches of a figure on a telephone, at whose width letters have their size."""

_BELOW, _BELOW_WIDTH = "below", 36
"""The mark of a legend that lies below its axis, and the characters of its lines."""

_RC: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "aqmlab",
    # Text stays text: it can be searched and copied, and files are small.
    "svg.fonttype": "none",
    # A dollar in the name of a scheme is a dollar.
    "text.parse_math": False,
    "legend.frameon": False,
    "legend.handlelength": 3,
}
"""How all figures look."""

_STAMPS = {"svg": "Date", "png": "Software", "pdf": "CreationDate"}
"""What a kind of file would tell of when or with what it was made."""

GROUPED = FuncFormatter(lambda value, _: f"{value:,.12g}")
"""Writes numbers as text does: 1,000."""


class _GroupedDecades(LogFormatter):
    """Writes 1,000 where a logarithmic axis would have a power of ten; which ticks have a label stays as it was."""

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
    """Draw a figure and write it in the form of the file's suffix."""
    _write([file], draw, size=size)


def _write(files: Sequence[Path], draw: Callable[[Figure], None], *, size: tuple[float, float]) -> None:
    """Draw a figure once, and write it in the forms of the files' suffixes."""
    kinds = [check_kind(file) for file in files]
    with mpl.rc_context(_RC):
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout)
        draw(figure)
        for axis in figure.axes:
            _write_numbers_alike(axis)
        _make_room(figure)
        # Where things lie is found once for all forms: it takes longer than to write them.
        layout.execute(figure)
        figure.set_layout_engine(None)
        for file, kind in zip(files, kinds, strict=True):
            with output_files.opened(file) as out:
                figure.savefig(out, format=kind, dpi=160, metadata={_STAMPS[kind]: None})


class LineStyles:
    """Colour, width and dashes of each scheme's line, the same in every figure in which it is drawn.

    Lines of one figure have different colours and different dashes as long as there are enough of them. The baseline
    is thin and black and lies above the others, which are seen on both sides of it.
    """

    def __init__(self, baseline: str) -> None:
        self.baseline = baseline
        self._beside: dict[str, set[str]] = {}
        self._chosen: dict[str, tuple[int, int]] = {}

    def together(self, labels: Iterable[str]) -> None:
        """Hear which lines a figure has: of all figures, before the first of them is drawn."""
        lines = [label for label in labels if label != self.baseline]
        for label in lines:
            self._beside.setdefault(label, set()).update(lines)

    def __getitem__(self, label: str) -> dict[str, Any]:
        if label == self.baseline:
            return {"color": "black", "linewidth": 0.8, "zorder": 3}
        for each in self._beside:
            if each not in self._chosen:
                self._chosen[each] = self._free(each)
        colour, dashes = self._chosen[label]
        return {
            "color": PALETTE[colour],
            "linewidth": max(_THINNEST, _THICKEST - 0.4 * colour),
            "linestyle": _DASHES[dashes],
            "dash_capstyle": "butt",
            # A line hides those below it, whichever is drawn first: the thinner ones, and those with gaps, are above.
            "zorder": 2 + colour / 10 + dashes / 100,
        }

    def _free(self, label: str) -> tuple[int, int]:
        """Return the colour and dashes that are rarest among the lines beside this one, and then among all."""
        beside = [self._chosen[other] for other in self._beside[label] if other in self._chosen]

        def rarity(style: tuple[int, int]) -> tuple[int, int, int]:
            colours, dashes = zip(*beside, strict=True) if beside else ((), ())
            return colours.count(style[0]), dashes.count(style[1]), list(self._chosen.values()).count(style)

        return min(_STYLES, key=rarity)


def check_writable(file: Path) -> None:
    """Raise what a figure's file would raise in the end: ``ValueError`` for its kind, ``OSError`` for its place."""
    check_kind(file)
    output_files.check(file)


def check_kind(file: Path) -> str:
    """Return the form of a figure, which its file's suffix says; a ``ValueError`` says which there are."""
    kind = file.suffix.removeprefix(".")
    if kind not in _STAMPS:
        raise ValueError(f"a figure is one of {', '.join(_STAMPS)}, got {file.name!r}")
    return kind


def name_inside(axis: Axes, *, colour: str = "linecolor") -> Axes:
    """Name the lines within the axis, from top to bottom as they lie in it, where the names hide least."""
    axis.legend(handles=_from_top(axis), loc="best", labelcolor=colour)
    return axis


def name_lines(where: Axes | Figure, lines: Sequence[Artist], *, colour: str = "linecolor") -> None:
    """Name lines, all at the right: beside the axis, or beside all panels of a figure where they have the same ones."""
    if isinstance(where, Axes):
        where.legend(handles=lines, loc="center left", bbox_to_anchor=(1.01, 0.5), labelcolor=colour)
    else:
        where.legend(handles=lines, loc="outside right center", labelcolor=colour)


def name_below(axis: Axes) -> None:
    """Name the lines below a figure's only axis, in place of the names that it has: for a screen that is narrow."""
    figure = axis.get_figure(root=True)
    assert figure is not None, "it is drawn on"
    if (beside := axis.get_legend()) is not None:
        beside.remove()
    lines = _from_top(axis)
    names = [textwrap.fill(str(line.get_label()), _BELOW_WIDTH) for line in lines]
    legend = figure.legend(lines, names, loc="outside lower left", labelcolor="linecolor")
    legend.set_gid(_BELOW)


def name_from_top(axis: Axes) -> Axes:
    """Name the lines beside the axis, from top to bottom as they lie in it; those of nothing come last."""
    name_lines(axis, _from_top(axis))
    return axis


def _from_top(axis: Axes) -> list[Line2D]:
    across = np.linspace(0, 1, 200)

    def height(line: Line2D) -> float:
        if np.size(line.get_xdata()) == 0:
            return -1.0
        x, y = axis.transAxes.inverted().transform(axis.transData.transform(line.get_xydata())).T
        return float(np.interp(across, x, y).clip(0, 1).mean())

    return sorted(axis.get_lines(), key=height, reverse=True)


def _write_numbers_alike(axis: Axes) -> None:
    """Group thousands and write out powers of ten, on all axes that were not given a form of their own."""
    for each in (axis.xaxis, axis.yaxis):
        for is_minor, formatter in ((False, each.get_major_formatter()), (True, each.get_minor_formatter())):
            put = each.set_minor_formatter if is_minor else each.set_major_formatter
            if isinstance(formatter, LogFormatter):
                put(_GroupedDecades(labelOnlyBase=formatter.labelOnlyBase, minor_thresholds=formatter.minor_thresholds))
            elif isinstance(formatter, ScalarFormatter) and not is_minor:
                put(GROUPED)


def _make_room(figure: Figure) -> None:
    """Enlarge a figure by what its legends take beyond their share: a line's name is as long as a user's scheme."""
    width, height = figure.get_size_inches()
    beside = [(legend, 0.4) for axis in figure.axes if (legend := axis.get_legend()) is not None]
    wider = taller = 0.0
    below = [legend for legend in figure.legends if legend.get_gid() == _BELOW]
    # Panels keep the room that they have without their legend.
    for legend, share in (*beside, *((legend, 0.0) for legend in figure.legends if legend not in below)):
        size = legend.get_window_extent()
        wider = max(wider, size.width / figure.dpi - share * width)
        taller = max(taller, size.height / figure.dpi - 0.9 * height)
    taller += sum(legend.get_window_extent().height / figure.dpi for legend in below)
    figure.set_size_inches(width + wider, height + taller)
