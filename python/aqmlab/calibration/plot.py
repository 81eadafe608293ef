"""A calibration as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from aqmlab.cells.calibration_model import Calibration
from aqmlab.ui import canvas


def line(axis: Axes, calibration: Calibration) -> Axes:
    """Draw the throughput of the uncongested network by users, the fitted line and its 100 % point."""
    max_users = max(calibration.users_per_side) * 1.05
    line_users = np.array([0.0, max_users])
    full_load_users = 100 / calibration.mbps_per_user
    axis.plot(line_users, line_users * calibration.mbps_per_user, color="black", linewidth=0.8)
    axis.plot(calibration.users_per_side, calibration.throughput_mbps, "o", color=canvas.PALETTE[0], label="measured")
    axis.plot(
        [full_load_users, full_load_users, 0], [0, 100, 100], color=canvas.PALETTE[1], linewidth=0.8, linestyle=":"
    )
    text_style: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axis.annotate(
        f"100 Mbit/s: {full_load_users:,.0f}", (full_load_users, 100), (8, -10), color=canvas.PALETTE[1], **text_style
    )
    if (published := calibration.published_users) is not None:
        axis.plot([published], [100], "x", color="black")
        axis.annotate(f"published: {published:,}", (published, 100), (-8, 10), ha="right", **text_style)
    x_label, suffix = (
        ("users on each side", "each way") if calibration.sides == 2 else ("users on one side", "of their data")
    )
    axis.set(xlim=(0, max_users), ylim=(0, None), xlabel=x_label, ylabel=f"throughput {suffix}, Mbit/s (IP)")
    return axis
