"""Figures of a discipline: its step response and its drop curve."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from aqmlab.disciplines.step import Load
from aqmlab.ui.canvas import PALETTE


def step_response(figure: Figure, rows: pl.DataFrame, load: Load, *, title: str) -> None:
    """Draw a discipline's response to a step of load: sojourn time, marks and drops, and a variable of the law.

    Parameters
    ----------
    figure
        The figure to draw on.
    rows
        The result of :func:`aqmlab.disciplines.step.step_response`.
    load
        The load of that result.
    """
    variable = _law_variable(rows)
    panels = figure.subplots(
        2 if variable is None else 3, 1, sharex=True, height_ratios=(5, 3) if variable is None else (5, 3, 3)
    )
    delay, signals = panels[:2]
    for axis in panels:
        axis.axvspan(load.up_s, load.down_s, color="#f3f3f3", linewidth=0)
    delay.plot(rows["time_s"], rows["delay_ms"], color=PALETTE[0], linewidth=1)
    delay.set(ylabel="in the queue, ms", ylim=(0, None), xlim=(0, load.end_s))
    delay.set_title(title, loc="left", fontsize=10)
    load_text = f"shaded: {100 * load.high:.0f} % of the link's rate wanted; else {100 * load.low:.0f} %"
    delay.set_title(load_text, loc="right", fontsize=9)
    second = (pl.col("time_s") - 0.05).floor()
    shares = rows.group_by(second, maintain_order=True).agg(
        dropped=100 * pl.col("dropped").sum() / pl.col("arrived").sum(),
        signalled=100 * (pl.col("dropped") + pl.col("marked")).sum() / pl.col("arrived").sum(),
    )
    edges = np.arange(len(shares) + 1)
    signals.stairs(shares["dropped"].to_numpy(), edges, fill=True, color=PALETTE[4], linewidth=0, label="dropped")
    signals.stairs(shares["signalled"].to_numpy(), edges, color="black", linewidth=0.8, label="marked or dropped")
    signals.set(ylabel="packets, %", ylim=(0, None))
    signals.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, handlelength=1)
    if variable is not None:
        panels[2].plot(rows["time_s"], rows[variable], color=PALETTE[1], linewidth=1)
        panels[2].set(ylabel=variable, ylim=(0, None))
    panels[-1].set_xlabel("time, s")
    figure.align_ylabels()


def drop_curve(figure: Figure, curve: pl.DataFrame, *, title: str) -> None:
    """Draw the probability of a signal, ``p_b``, over the average queue, ``avg``."""
    axis = figure.subplots()
    axis.plot(curve["avg"], curve["p_b"], color=PALETTE[0])
    axis.set(xlabel="average queue, packets", ylabel="probability", xlim=(0, None), ylim=(0, 1.02))
    axis.set_title(title, loc="left", fontsize=10)


def _law_variable(rows: pl.DataFrame) -> str | None:
    """Return the name of the most informative variable of a law: its probability, or the first that varies."""
    columns = ("time_s", "delay_ms", "arrived", "dropped", "marked")
    variables = [name for name in rows.columns if name not in columns and rows[name].n_unique() > 1]
    probabilities = [name for name in variables if name.split("_")[0] == "p"]
    return next(iter((*probabilities, *variables)), None)
