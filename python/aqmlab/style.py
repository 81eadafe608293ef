"""A style for the figures of a paper: one or two columns wide, for colour-blind readers and for print in grey.

Colours, dashes and widths of lines are those of all figures. Fonts are embedded as TrueType, which journals ask for.

>>> import aqmlab as lab
>>> import matplotlib.pyplot as plt
>>> with lab.style.columns(1):  # doctest: +SKIP
...     figure, axis = plt.subplots()
...     lab.plot.cdf(comparison.response_times(), axis)
...     figure.savefig("cdf.pdf")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

from aqmlab._core import SpecError
from aqmlab.ui import canvas

__all__ = ["columns", "parameters"]

_WIDTHS_IN = {1: 3.5, 2: 7.16}
"""The widths of one and two columns: IEEE Author Center, "Resolution and size" of graphics."""

_ASPECT = {1: 0.68, 2: 0.42}
"""The height of a figure by its width, unless you give it. Ours."""

_TEXT_PT, _SMALL_PT = 8, 7
"""The sizes of text: IEEE asks for 8 to 10 points in print; numbers on the axes may be smaller. Ours."""

_LINE_SCALE = 0.55
"""The widths of lines by those of a figure on a screen, which is about twice as wide. Ours."""


def parameters(columns: int = 1, *, height: float | None = None) -> dict[Any, Any]:
    """Return the style as parameters of matplotlib, for ``mpl.rcParams.update`` or ``mpl.rc_context``.

    Parameters
    ----------
    columns
        The width of the figure: 1 or 2 columns.
    height
        The height in inches; by default 0.68 of the width of one column, and 0.42 of that of two.

    Raises
    ------
    SpecError
        When the number of columns is another, or the height is not above 0.

    Examples
    --------
    >>> parameters(2)["figure.figsize"]
    (7.16, 3.01)
    """
    if columns not in _WIDTHS_IN:
        raise SpecError(f"columns: must be 1 or 2, got {columns}")
    if height is not None and not height > 0:
        raise SpecError(f"height: must be above 0 inches, got {height:g}")
    width = _WIDTHS_IN[columns]
    return {
        # Logarithmic axes of your own need mathematics in their labels.
        **{name: value for name, value in canvas.FRAME.items() if name != "text.parse_math"},
        "figure.figsize": (width, round(width * _ASPECT[columns], 2) if height is None else height),
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.02,
        "figure.constrained_layout.w_pad": 0.02,
        "savefig.dpi": 600,
        "font.size": _TEXT_PT,
        "axes.titlesize": _TEXT_PT,
        "axes.labelsize": _TEXT_PT,
        "legend.fontsize": _SMALL_PT,
        "xtick.labelsize": _SMALL_PT,
        "ytick.labelsize": _SMALL_PT,
        "axes.linewidth": 0.6,
        "grid.linewidth": 0.4,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        # Journals refuse the bitmap fonts (Type 3) that matplotlib embeds by default.
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
    }


@contextmanager
def columns(number: int = 1, *, height: float | None = None) -> Iterator[None]:
    """Draw the figures of this context in the style, with the names at the ends of the lines where there is room.

    Parameters
    ----------
    number
        The width of the figures: 1 or 2 columns.
    height
        The height in inches, as for :func:`parameters`.

    Raises
    ------
    SpecError
        When the number of columns is another, or the height is not above 0.
    """
    style = parameters(number, height=height)
    scale, direct = canvas.line_scale.set(_LINE_SCALE), canvas.labels_directly.set(True)
    try:
        with mpl.rc_context(style):
            yield
    finally:
        canvas.line_scale.reset(scale)
        canvas.labels_directly.reset(direct)
