"""The page docs/studies/sensitivity.md: the settings of RED, PIE and CoDel that matter, and the gain from tuning.

``make sensitivity`` runs this module, which fills in sensitivity.md. Cells in the store are reused.
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
"""The ranges to vary around the defaults: our choice of what a user might set."""

_COLOURS = {"red": "tab:red", "pie": "tab:blue", "codel": "tab:green"}


class Settings(NamedTuple):
    """The sensitivity and the tuning of a discipline at a load."""

    sensitivity: Sensitivity
    tuned: TuningResult


def main() -> None:
    """Run the cells that are missing, and write the page and its figure."""
    parser = argparse.ArgumentParser(description="Write docs/studies/sensitivity.md.")
    parser.add_argument("pages", type=Path, help="directory of the studies' pages")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results directory")
    arguments = parser.parse_args()
    settings = {(name, load): _study(name, load, arguments.results) for load in _LOADS for name in _SPACES}
    file = arguments.pages / _FIGURE
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.write(file, lambda figure: _draw(figure, settings), size=(10, 7))
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        results=_core.results_number(),
        spaces=table(("discipline", "ranges"), [(name, f"`{over}`") for name, over in _SPACES.items()]),
        trials=_TRIALS,
        trajectories=_TRAJECTORIES,
        effects=_effects_table(settings),
        gains=_gains_table(settings),
    )
    (arguments.pages / "sensitivity.md").write_text(text, encoding="utf-8")


def _study(name: str, load: int, out: Path) -> Settings:
    experiment = lab.Experiment(
        testbed="unc-2003",
        link={"rate": "20 Mbit/s", "device_fifo": 0},
        users={"load": float(load)},
        protocol={"warmup": "1 min", "duration": "4 min"},
    )
    scheme = f"{name}:ecn=true"
    over = _SPACES[name]
    effects = lab.sensitivity(
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
    return Settings(effects, tuned)


def _effects_table(settings: Mapping[tuple[str, int], Settings]) -> str:
    rows = []
    for name in _SPACES:
        for load in _LOADS:
            indices = settings[name, load].sensitivity.indices
            for parameter in settings[name, load].sensitivity.space:
                measures = indices.filter(parameter=parameter).to_dicts()
                effects = (f"{index['mu_star']:.3g} ±{index['mu_star_half']:.2g}" for index in measures)
                rows.append((name, f"{load}", f"`{parameter}`", *effects))
    return table(("discipline", "load, %", "parameter", "delay, ms", "utilization", "p95, ms"), rows)


def _gains_table(settings: Mapping[tuple[str, int], Settings]) -> str:
    rows = []
    for name in _SPACES:
        for load in _LOADS:
            tuned = settings[name, load].tuned
            defaults = (tuned.baseline_text(number) for number in range(len(tuned.objectives)))
            rows.append((name, f"{load}", "defaults", *defaults, "", ""))
            for confirmed in tuned.best:
                found = (f"{value:+.3g}" for value in confirmed.found.means)
                fresh = (_interval(*confirmed.interval(number)) for number in range(len(tuned.objectives)))
                setting = confirmed.found.scheme.partition(":")[2].removesuffix(",ecn=true").replace(",", ", ")
                rows.append((name, f"{load}", f"`{setting}`", *found, *fresh))
    means = ("delay, ms", "utilization")
    columns = ("discipline", "load, %", "setting", *means, "delay, fresh seeds", "utilization, fresh seeds")
    return table(columns, rows)


def _interval(mean: float, low: float, high: float) -> str:
    return f"{mean:+.3g} [{low:+.3g}, {high:+.3g}]"


def _draw(figure: Figure, settings: Mapping[tuple[str, int], Settings]) -> None:
    axes = figure.subplots(2, 2)
    for axis, load in zip(axes.ravel(), _LOADS, strict=True):
        for name in _SPACES:
            tuned = settings[name, load].tuned
            delay, utilisation = (tuned.baseline_interval(number)[0] for number in range(2))
            points = [(delay + trial.means[0], utilisation + trial.means[1]) for trial in tuned.candidates]
            front = sorted((delay + trial.means[0], utilisation + trial.means[1]) for trial in tuned.front)
            axis.scatter(*zip(*points, strict=True), s=10, color=_COLOURS[name], alpha=0.35, linewidths=0)
            axis.plot(*zip(*front, strict=True), color=_COLOURS[name], label=name)
            star = {"marker": "*", "s": 60, "edgecolors": "black", "linewidths": 0.5, "zorder": 4}
            axis.scatter([delay], [utilisation], color=_COLOURS[name], **star)
        axis.set_xscale("log")
        axis.set_title(f"{load} % load", loc="left")
        axis.set_xlabel("mean queueing delay, ms")
        axis.set_ylabel("utilization")
    axes[0][0].legend(frameon=False)


if __name__ == "__main__":
    main()
