"""A calibration as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from aqmlab.cells.calibration_model import PUBLISHED_USERS, Calibration
from aqmlab.ui import canvas


def line(axis: Axes, fitted: Calibration) -> Axes:
    """Draw the throughput of the uncongested network by users, the fitted line and its 100 % point."""
    most = max(fitted.users_per_side) * 1.05
    ends = np.array([0.0, most])
    full = 100 / fitted.mbps_per_user
    axis.plot(ends, ends * fitted.mbps_per_user, color="black", linewidth=0.8)
    axis.plot(fitted.users_per_side, fitted.throughput_mbps, "o", color=canvas.PALETTE[0], label="measured")
    axis.plot([full, full, 0], [0, 100, 100], color=canvas.PALETTE[1], linewidth=0.8, linestyle=":")
    beside: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axis.annotate(f"100 Mbit/s: {full:,.0f}", (full, 100), (8, -10), color=canvas.PALETTE[1], **beside)
    if fitted.rtt in PUBLISHED_USERS and fitted.sides == 2:
        published = PUBLISHED_USERS[fitted.rtt]
        axis.plot([published], [100], "x", color="black")
        axis.annotate(f"published: {published:,}", (published, 100), (-8, 10), ha="right", **beside)
    whose, way = ("users on each side", "each way") if fitted.sides == 2 else ("users on one side", "of their data")
    axis.set(xlim=(0, most), ylim=(0, None), xlabel=whose, ylabel=f"throughput {way}, Mbit/s (IP)")
    return axis
