"""Published experiments repeated: ours beside theirs, and whether they are as near as aimed at.

A study is two files of the package: ``studies/NAME.toml`` with its title, sources, protocol and aims, and
``studies/NAME.csv`` with the published rows, each scheme written as it is typed.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Self

from aqmlab import _core, stats
from aqmlab.calibration import Calibrations
from aqmlab.cell import Cell
from aqmlab.compare import BASELINE, comparison_cells
from aqmlab.result import Result
from aqmlab.spec import Experiment


@dataclass(frozen=True, kw_only=True)
class Row:
    """One published result."""

    table: str
    load_percent: float
    scheme: str
    loss_percent: float
    completed_millions: float
    throughput_mbps: float


@dataclass(frozen=True, kw_only=True)
class Aims:
    """How near is near enough."""

    loss_points: float
    loss_percent: float
    completed_percent: float
    throughput_mbps: float

    def missed(self, ours: Mapping[str, Any], published: Row) -> list[str]:
        """Name the measures in which our mean is further from the published one than aimed at."""
        loss_within = max(self.loss_points, self.loss_percent / 100 * published.loss_percent)
        completed_within = self.completed_percent / 100 * published.completed_millions
        within = {
            "loss": abs(ours["loss_percent"] - published.loss_percent) <= loss_within,
            "completed": abs(ours["completed_requests"] / 1e6 - published.completed_millions) <= completed_within,
            "throughput": abs(ours["throughput_mbps"] - published.throughput_mbps) <= self.throughput_mbps,
        }
        return [measure for measure, near in within.items() if not near]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Published experiments and what they gave."""

    title: str
    rtt: str
    warmup: str
    duration: str
    sources: dict[str, str]
    aims: Aims
    rows: tuple[Row, ...]

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Read a study of the package."""
        folder = resources.files("aqmlab") / "studies"
        about = tomllib.loads((folder / f"{name}.toml").read_text())
        rows = csv.DictReader((folder / f"{name}.csv").read_text().splitlines())
        return cls(**{**about, "aims": Aims(**about["aims"]), "rows": tuple(_row(row) for row in rows)})

    def cells(self, seeds: Iterable[int], calibrations: Calibrations) -> list[Cell]:
        """Return the cells that repeat the study."""
        seeds = list(seeds)
        cells = []
        for load in dict.fromkeys(row.load_percent for row in self.rows):
            texts = [row.scheme for row in self.rows if row.load_percent == load and row.scheme != BASELINE]
            experiment = Experiment(
                users={"load": load, "rtt": self.rtt},
                protocol={"warmup": self.warmup, "duration": self.duration},
            )
            cells += comparison_cells(texts, experiment, seeds, calibrations)
        return cells


def report(study: Study, results: Sequence[Result], notes: str) -> str:
    """Write the study beside its repetition as Markdown.

    Parameters
    ----------
    study
        What was published.
    results
        The results of its cells.
    notes
        What a person found about the rows outside, put in as it is.
    """
    records = [result.record() for result in results]
    ours = {}
    for row in study.rows:
        of_row = [each for each in records if (each["label"], each["load_percent"]) == (row.scheme, row.load_percent)]
        ours[row.scheme, row.load_percent] = stats.over_seeds(of_row)
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(record["seed"] for record in records))
    aims = study.aims
    parts = [
        "# Validation",
        "<!-- Written by `aqmlab validate`; notes belong in validation-notes.md. -->",
        f"{study.title}, repeated: {study.rtt} round-trip times, {study.warmup} of warm-up and {study.duration}"
        f" measured, seeds {seeds}, engine {_core.engine_version()}. Ours is the mean over the seeds ± their standard"
        " deviation.",
        f"Aim: loss within {aims.loss_points:g} percentage point or {aims.loss_percent:g} % of the published one,"
        f" completed requests within {aims.completed_percent:g} %, throughput within {aims.throughput_mbps:g} Mbit/s."
        " What misses its aim is named in the last column.",
    ]
    for heading, about, names in _SECTIONS:
        rows = [row for row in study.rows if row.scheme.partition(":")[0] in names]
        if rows:
            parts += [f"## {heading}", about, _table(rows, ours, aims)]
    parts += [
        notes.strip(),
        "## Sources",
        "\n".join(f"* {key}: {text}" for key, text in study.sources.items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_SECTIONS = (
    (
        "Drop-tail",
        "The only rows that were used to choose a parameter: the link's device FIFO.",
        ("droptail",),
    ),
    ("Uncongested network", "The calibration: nothing but the users decides these rows.", (BASELINE,)),
    ("Active queue management", "Nothing was fitted to these rows.", ("red", "ared", "pi", "rem")),
)


def _table(rows: Sequence[Row], ours: Mapping[tuple[str, float], Mapping[str, Any]], aims: Aims) -> str:
    lines = [
        "| load % | scheme | loss % | published | completed M | published | Mbit/s | published | source | outside |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    outside: list[list[str]] = []
    for row in sorted(rows, key=lambda row: (row.scheme, row.load_percent)):
        mean = ours[row.scheme, row.load_percent]
        loss, completed, throughput = (_with_sd(mean, name, unit) for name, unit in _COLUMNS)
        missed = aims.missed(mean, row)
        outside.append(missed)
        lines.append(
            f"| {row.load_percent:g} | `{row.scheme}` | {loss} | {row.loss_percent:g} | {completed}"
            f" | {row.completed_millions:g} | {throughput} | {row.throughput_mbps:g} | {row.table}"
            f" | {', '.join(missed)} |"
        )
    all_three = sum(not missed for missed in outside)
    each = [
        f"{sum(name not in missed for missed in outside)} in {name}" for name in ("loss", "completed", "throughput")
    ]
    return "\n".join((f"Of {len(rows)} rows {all_three} are inside in all three: {', '.join(each)}.", "", *lines))


_COLUMNS = (("loss_percent", 1.0), ("completed_requests", 1e6), ("throughput_mbps", 1.0))


def _with_sd(mean: Mapping[str, Any], name: str, unit: float) -> str:
    sd = mean["sd"][name]
    return f"{mean[name] / unit:.2f}" + ("" if sd is None else f" ± {sd / unit:.2f}")


def _row(row: Mapping[str, str]) -> Row:
    numbers = {name: float(row[name]) for name in row if name not in ("table", "scheme")}
    return Row(table=row["table"], scheme=row["scheme"], **numbers)
