"""Compare how long people wait behind a full link under two queue disciplines."""

import aqmlab as lab

experiment = lab.Experiment(testbed="unc-2003", protocol={"warmup": "1 min", "duration": "2 min"})
comparison = lab.compare("droptail:limit=240", "pi:q_ref=24,ecn=true", experiment=experiment, seeds=[1])
print(comparison)

for result in comparison.results:
    median, worst = lab.quantiles(result.response_times, [0.5, 0.99])
    print(f"{result.cell.label}: half of the requests take {median:.0f} ms, one in a hundred {worst / 1000:.1f} s")

pi = comparison.results[-1].queue  # a Polars frame: one row every 10 ms and direction
print(pi.group_by("direction").mean())
