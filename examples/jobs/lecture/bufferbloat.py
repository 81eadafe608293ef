"""A lecture on bufferbloat: the delay in the queue over time, response times, and the numbers for the slide."""

import polars as pl
from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab import plot

experiment = lab.Experiment(
    sides=("home", "internet"),
    link={"rate": "10 Mbit/s", "delay": "10 ms"},
    users={"per_side": 30, "sides": 1},
    sources=[{"bulk": {"name": "download", "flows": 1, "rtt": {"fixed": "20 ms"}, "start": "30 s"}}],
    protocol={"warmup": "10 s", "duration": "60 s"},
)
QUEUES = {"droptail:limit=512 kB": "an unmanaged buffer", "codel": "CoDel", "fq_codel": "FQ-CoDel"}
comparison = lab.compare(*QUEUES, experiment=experiment, seeds=[1, 2, 3], baseline=False)


def named(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Call the curves as the lecture does."""
    return {QUEUES[scheme]: frame for scheme, frame in frames.items()}


# The download begins 20 s into the picture: from then on the whole household has this delay.
figure = Figure(figsize=(8, 3))
plot.queue(named(comparison.queues(direction=1)), figure.subplots())
figure.savefig("queue.svg")

figure = Figure(figsize=(5, 4))
plot.cdf(named(comparison.response_times()), figure.subplots())
figure.savefig("response-times.svg")

# The numbers for the slide: with 95 % intervals, of the direction towards the household.
frame = comparison.frame("delay p99 internet→home", "web users p50", "web users p95", "download goodput")
print(frame.select("scheme", "measure", "unit", "mean", "low", "high"))
