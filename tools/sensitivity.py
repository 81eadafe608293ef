"""The page docs/studies/sensitivity.md: what the settings of RED, PIE and CoDel matter, and what tuning gains.

``make sensitivity`` runs this module, which fills in sensitivity.md. What has been run is in the results directory.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

import aqmlab as lab
from aqmlab import _core
from aqmlab.campaigns.search.sensitivity import Sensitivity
from aqmlab.campaigns.search.tuning import TuningResult
from aqmlab.ui import canvas
from markdown import table

_TEMPLATE = Path(__file__).with_name("sensitivity.md")
_FIGURE = Path("img") / "sensitivity" / "fronts.svg"

_LOADS = (80, 90, 98, 105)
_SEEDS = (1, 2, 3)
_TRIALS = 24
_TRAJECTORIES = 8

_SPACES = {
    "red": "min_th=2..12,max_th=15..150,max_p=0.01..0.5,w_q=0.0002..0.02",
    "pie": "qdelay_ref=2 ms..60 ms,t_update=5 ms..60 ms,alpha=0.0125..1.25,beta=0.125..12.5",
    "codel": "target=1 ms..50 ms,interval=60 ms..500 ms",
}
"""What is varied, around the defaults: ranges that somebody might choose from. Ours."""

_COLOURS = {"red": "tab:red", "pie": "tab:blue", "codel": "tab:green"}


class Studied(NamedTuple):
    """A discipline at a load."""

    sensitivity: Sensitivity
    tuned: TuningResult


def main() -> None:
    """Run what is missing, and write the page and its figure."""
    parser = argparse.ArgumentParser(description="Write docs/studies/sensitivity.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    chosen = parser.parse_args()
    studied = {(name, load): _study(name, load, chosen.results) for load in _LOADS for name in _SPACES}
    file = chosen.pages / _FIGURE
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.write(file, lambda figure: _draw(figure, studied), size=(10, 7))
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        results=_core.results_number(),
        spaces=table(("discipline", "what is varied"), [(name, f"`{over}`") for name, over in _SPACES.items()]),
        trials=_TRIALS,
        trajectories=_TRAJECTORIES,
        matter=_what_matters(studied),
        gains=_what_tuning_gains(studied),
    )
    (chosen.pages / "sensitivity.md").write_text(text, encoding="utf-8")


def _study(name: str, load: int, out: Path) -> Studied:
    experiment = lab.Experiment(
        testbed="unc-2003",
        link={"rate": "20 Mbit/s", "device_fifo": 0},
        users={"load": float(load)},
        protocol={"warmup": "1 min", "duration": "4 min"},
    )
    scheme = f"{name}:ecn=true"
    over = _SPACES[name]
    found = lab.sensitivity(
        scheme,
        over,
        of=("delay", "utilisation", "p95"),
        experiment=experiment,
        points=_TRAJECTORIES,
        seeds=_SEEDS,
        out=out,
    )
    tuned = lab.tune(
        scheme,
        over,
        minimise=["delay"],
        maximise=["utilisation"],
        experiment=experiment,
        trials=_TRIALS,
        seeds=_SEEDS,
        confirm=3,
        out=out,
    )
    print(f"{name} at {load} %", flush=True)
    return Studied(found, tuned)


def _what_matters(studied: Mapping[tuple[str, int], Studied]) -> str:
    rows = []
    for name in _SPACES:
        for load in _LOADS:
            indices = studied[name, load].sensitivity.indices
            for parameter in studied[name, load].sensitivity.space:
                its = indices.filter(parameter=parameter).to_dicts()
                effects = (f"{it['mu_star']:.3g} ±{it['mu_star_half']:.2g}" for it in its)
                rows.append((name, f"{load}", f"`{parameter}`", *effects))
    return table(("discipline", "load, %", "parameter", "delay, ms", "utilisation", "p95, ms"), rows)


def _what_tuning_gains(studied: Mapping[tuple[str, int], Studied]) -> str:
    rows = []
    for name in _SPACES:
        for load in _LOADS:
            tuned = studied[name, load].tuned
            defaults = (tuned.as_given(number) for number in range(len(tuned.objectives)))
            rows.append((name, f"{load}", "as it is", *defaults, "", ""))
            for each in tuned.best:
                found = (f"{value:+.3g}" for value in each.found.means)
                fresh = (_interval(*each.interval(number)) for number in range(len(tuned.objectives)))
                setting = each.found.scheme.partition(":")[2].removesuffix(",ecn=true").replace(",", ", ")
                rows.append((name, f"{load}", f"`{setting}`", *found, *fresh))
    means = ("delay, ms", "utilisation")
    columns = ("discipline", "load, %", "setting", *means, "delay, fresh seeds", "utilisation, fresh seeds")
    return table(columns, rows)


def _interval(mean: float, low: float, high: float) -> str:
    return f"{mean:+.3g} [{low:+.3g}, {high:+.3g}]"


def _draw(figure: Figure, studied: Mapping[tuple[str, int], Studied]) -> None:
    axes = figure.subplots(2, 2)
    for axis, load in zip(axes.ravel(), _LOADS, strict=True):
        for name in _SPACES:
            tuned = studied[name, load].tuned
            delay, utilisation = (tuned.baseline_interval(number)[0] for number in range(2))
            points = [(delay + each.means[0], utilisation + each.means[1]) for each in tuned.tried]
            front = sorted((delay + each.means[0], utilisation + each.means[1]) for each in tuned.front)
            axis.scatter(*zip(*points, strict=True), s=10, color=_COLOURS[name], alpha=0.35, linewidths=0)
            axis.plot(*zip(*front, strict=True), color=_COLOURS[name], label=name)
            star = {"marker": "*", "s": 60, "edgecolors": "black", "linewidths": 0.5, "zorder": 4}
            axis.scatter([delay], [utilisation], color=_COLOURS[name], **star)
        axis.set_xscale("log")
        axis.set_title(f"{load} % load", loc="left")
        axis.set_xlabel("mean queueing delay, ms")
        axis.set_ylabel("utilisation")
    axes[0][0].legend(frameon=False)


if __name__ == "__main__":
    main()
