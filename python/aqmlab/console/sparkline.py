"""Small drawings of a cell's queueing delay over time, for tables."""

from __future__ import annotations

import polars as pl

from aqmlab.results import timeseries
from aqmlab.store.result import Result
from aqmlab.ui.canvas import PALETTE

_WIDTH, _HEIGHT = 96, 24


def svg(result: Result) -> str:
    """Return the mean delay over the measurement window, of the direction with the longest one, from zero up."""
    delays = timeseries.downsample(result)
    longest = pl.col("delay_ms_mean").mean().over("link", "direction").rank("dense", descending=True)
    means = delays.filter(longest == 1).unique("time_s").sort("time_s")["delay_ms_mean"]
    scale = (_HEIGHT - 2) / (max(means, default=0) or 1)
    step = _WIDTH / timeseries.BINS
    points = " ".join(f"{step * index:.1f},{_HEIGHT - 1 - scale * mean:.1f}" for index, mean in enumerate(means))
    line = f'<polyline points="{points}" fill="none" stroke="{PALETTE[-1]}" stroke-width="1.5"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">{line}</svg>'
