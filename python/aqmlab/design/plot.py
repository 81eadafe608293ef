"""A control loop as a figure."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from aqmlab.design.control import Loop
from aqmlab.ui.canvas import PALETTE


def pi_loop(figure: Figure, loop: Loop, *, title: str) -> None:
    """Draw a PI loop's gain and phase with its margins, and its step response."""
    margins = loop.margins()
    panels = figure.subplot_mosaic([["gain", "step"], ["phase", "step"]])
    gain, phase, step = panels["gain"], panels["phase"], panels["step"]
    middle = math.sqrt(margins.crossover * margins.phase_crossover)
    w = np.geomspace(middle / 50, middle * 50, 300)
    gain.plot(w, 20 * np.log10(loop.magnitude(w)), color=PALETTE[0])
    gain.axhline(0, color="black", linewidth=0.8)
    gain.plot([margins.phase_crossover] * 2, [-margins.gain_margin_db, 0], color=PALETTE[1], marker="_")
    gain.set(xscale="log", ylabel="gain, dB")
    gain.set_title(f"gain margin {margins.gain_margin_db:.1f} dB", loc="right", fontsize=9, color=PALETTE[1])
    phase.plot(w, loop.phase_deg(w), color=PALETTE[0])
    phase.axhline(-180, color="black", linewidth=0.8)
    phase.plot([margins.crossover] * 2, [margins.phase_margin_deg - 180, -180], color=PALETTE[1], marker="_")
    phase.set(
        xscale="log", ylabel="phase, degrees", xlabel="frequency, rad/s", ylim=(-360, 0), yticks=range(-360, 1, 90)
    )
    phase.set_title(f"phase margin {margins.phase_margin_deg:.1f}°", loc="right", fontsize=9, color=PALETTE[1])
    response = loop.step_response(15 / margins.crossover, points=400)
    step.axhline(1, color="black", linewidth=0.8)
    step.plot(response["time_s"], response["queue"], color=PALETTE[0])
    step.set(xlim=(0, response["time_s"][-1]), ylim=(0, None), xlabel="time, s", ylabel="rise of the queue, packets")
    step.set_title("the reference rises by 1 packet", loc="right", fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
