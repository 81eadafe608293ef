"""``--draw KIND``: distributions in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError

if TYPE_CHECKING:
    from aqmlab.results.comparison import Comparison

_KINDS = ("cdf", "ccdf")

Draw = Annotated[
    str | None,
    typer.Option(
        "--draw",
        metavar="KIND,...",
        help="Draw distributions of response times in the terminal: cdf (cumulative), ccdf (complementary).",
    ),
]


def parse_kinds(text: str | None, *, as_json: bool) -> tuple[str, ...]:
    """Return the kinds of distributions to draw, before hours of experiments.

    Raises
    ------
    SpecError
        When there is no such kind, or the output is JSON.
    """
    if text is None:
        return ()
    kinds = tuple(dict.fromkeys(kind.strip() for kind in text.split(",")))
    if wrong := [kind for kind in kinds if kind not in _KINDS]:
        raise SpecError(f"--draw: must be {' or '.join(_KINDS)}, got {wrong[0]!r}")
    if as_json:
        raise SpecError("--draw: cannot be with --json")
    return kinds


def draw(comparison: Comparison, kinds: tuple[str, ...]) -> None:
    """Print the distributions of all schemes, as wide as the terminal and 80 columns wide in a pipe."""
    if not kinds:
        return
    from aqmlab.results.figures import charts
    from aqmlab.results.figures.terminal import TerminalChart
    from aqmlab.ui import console

    curves = comparison.response_times()
    for kind in kinds:
        print()
        console.show(TerminalChart({"cdf": charts.CDF, "ccdf": charts.CCDF}[kind], curves), pipe_width=80)
