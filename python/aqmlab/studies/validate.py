"""Published experiments repeated: ours beside theirs, and whether they are as near as aimed at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aqmlab import _core
from aqmlab.results import stats
from aqmlab.results.compare import BASELINE, comparison_cells
from aqmlab.results.result import Result
from aqmlab.running.calibration.lines import Calibrations
from aqmlab.running.cell import Cell
from aqmlab.spec.experiment import Experiment
from aqmlab.studies.kit.published import Aims, Published, Row


def validation_cells(published: Published, seeds: Iterable[int], calibrations: Calibrations) -> list[Cell]:
    """Return the cells that repeat what was published."""
    seeds = list(seeds)
    made = []
    for load in dict.fromkeys(row.load_percent for row in published.rows):
        texts = [row.scheme for row in published.rows if row.load_percent == load and row.scheme != BASELINE]
        experiment = Experiment(
            users={"load": load, "rtt": published.rtt},
            protocol={"warmup": published.warmup, "duration": published.duration},
        )
        made += comparison_cells(texts, experiment, seeds, calibrations)
    return made


def report(published: Published, results: Sequence[Result], notes: str) -> str:
    """Write what was published beside its repetition as Markdown.

    Parameters
    ----------
    published
        What was published.
    results
        The results of its cells.
    notes
        What a person found about the rows outside, put in as it is.
    """
    records = [result.record() for result in results]
    ours = {}
    for row in published.rows:
        of_row = [each for each in records if (each["label"], each["load_percent"]) == (row.scheme, row.load_percent)]
        ours[row.scheme, row.load_percent] = stats.over_seeds(of_row)
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(record["seed"] for record in records))
    aims = published.aims
    parts = [
        "# Validation",
        "<!-- Written by `aqmlab validate`; notes belong in validation-notes.md. -->",
        f"{published.title}, repeated: {published.rtt} round-trip times, {published.warmup} of warm-up and"
        f" {published.duration} measured, seeds {seeds}, results {_core.results_number()}, engine"
        f" {_core.engine_version()}. Ours is the mean over the seeds ± their standard deviation.",
        f"Aim: loss within {aims.loss_points:g} percentage point or {aims.loss_percent:g} % of the published one,"
        f" completed requests within {aims.completed_percent:g} %, throughput within {aims.throughput_mbps:g} Mbit/s."
        " What misses its aim is named in the last column.",
    ]
    for heading, about, names in _SECTIONS:
        rows = [row for row in published.rows if row.scheme.partition(":")[0] in names]
        if rows:
            parts += [f"## {heading}", about, _table(rows, ours, aims)]
    parts += [
        notes.strip(),
        "## Sources",
        "\n".join(f"* {key}: {text}" for key, text in published.sources.items()),
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
