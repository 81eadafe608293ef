"""The report as one self-contained HTML file, which loads nothing from a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aqmlab import studies
from aqmlab._core import SpecError
from aqmlab.report import again, explained, said, study, template
from aqmlab.report.charts import charts
from aqmlab.report.explained import Explained
from aqmlab.report.gathered import Choice, Gathered, gather
from aqmlab.report.vega import VegaBuilder
from aqmlab.results import table
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.ui import output_files
from aqmlab.ui.extras import require

_OF_EACH = ("cell", "scheme", "seed", "made, UTC", "SHA-256 of the summary")
_VEGA = ("vendored/vega.min.js", "vendored/vega-lite.min.js", "vendored/vega-embed.min.js")
"""The libraries that draw, in the order of their dependencies."""

_OFTEN_ALIKE = ("world", "results", "engine", "commit", "Python", "machine")


def report(
    *cells: str,
    out: Path | str = "results",
    to: Path | str = "report.html",
    schemes: Sequence[str] = (),
    load: float | None = None,
    seeds: Sequence[int] | None = None,
    experiment: Experiment | None = None,
    explain: bool = False,
) -> Path:
    """Write a report of stored cells, or of a study, as one HTML file.

    Parameters
    ----------
    *cells
        Keys of cells, unique prefixes of keys, or directories of cells. The default is the newest comparison: all cells
        that differ from the newest one only in scheme and seed. The name of a study, alone, reports that study at the
        longest of its lengths that is complete.
    out
        The results directory, or its URL.
    to
        The output file, which is replaced.
    schemes
        Select these schemes, as typed or by the names of their disciplines, and the uncongested network. Others are
        compared with the first one. For a study, the schemes that it was run with instead of its own.
    load
        Select cells of this load in percent.
    seeds
        Select cells with these seeds. For a study, these consecutive repetitions instead of those of its length.
    experiment
        Select the newest comparison of this experiment. Schemes and variants are not part of an experiment.
    explain
        Add response times of web users by cause, see :func:`aqmlab.explain`. Each cell is run again for it, which takes
        a few times as long as the first run.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    SpecError
        When there are no such cells, or no valid ones; when both cells and an experiment are given; when a cell cannot
        be explained, such as a live run; or when no length of a study is complete.

    Examples
    --------
    >>> lab.report(load=98, to="report.html")  # doctest: +SKIP
    >>> lab.report("le2003", to="le2003.html")  # doctest: +SKIP
    """
    require("report")
    if cells and experiment is not None:
        raise SpecError(f"experiment: cannot be with cells or a study, got {', '.join(cells)}")
    choice = Choice(cells=cells, schemes=schemes, load=load, seeds=seeds, experiment=experiment)
    file = Path(to)
    if any(name in studies.STUDIES for name in cells):
        if explain:
            raise SpecError("explain: cannot be with a study, whose cells are too many to be run once more")
        output_files.check(file)
        study.write(out, choice, file)
        return file
    gathered = gather(out, choice)
    # Check before a computation that may take hours.
    output_files.check(file)
    times = explained.explained(gathered) if explain else {}
    page = html(gathered, times)
    with output_files.opened(file) as written:
        written.write(page.encode())
    return file


def html(gathered: Gathered, times: Explained = MappingProxyType({})) -> str:
    """Return the page, with response times by cause if given; the same cells give the same page."""
    vega = VegaBuilder(list(gathered.by_label))
    drawn = charts(gathered, vega, times)
    schemes = gathered.schemes
    asked, setting = said.question(gathered, vega.names)
    scripts = [*map(template.part, _VEGA), template.part("templates/report.js")]
    results = gathered.valid + gathered.invalid
    alike, made = _made(results)
    return template.filled(
        "report.html",
        question=asked,
        setting=setting,
        answer=said.answer(gathered, vega.names),
        notes=said.notes(gathered),
        parts=[*table.parts(schemes), *([explained.table(times)] if times else [])],
        captions=table.captions(schemes, ()),
        charts=drawn,
        styles=vega.styles,
        data=_in_script({"schemes": list(vega.styles), "charts": {chart.name: chart.record() for chart in drawn}}),
        results=results,
        alike=alike,
        made=made,
        schemes=gathered.by_label,
        as_json=lambda value: json.dumps(value, indent=2),
        zip=zip,
        steps=again.steps(gathered),
        explainable=next((each for each in gathered.valid if again.is_explainable(each)), None),
        scripts=[template.raw(script) for script in scripts],
        hashes=[_hash(script) for script in scripts],
    )


def _made(results: Sequence[Result]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the provenance of cells: the values that all of them share, and the columns of a table of the others."""
    columns: dict[str, list[str]] = {name: [] for name in (*_OF_EACH, *_OFTEN_ALIKE)}
    for each in results:
        made = each.metadata
        is_live, is_valid = "live" in made, made.get("live", {}).get("valid")
        values = {
            "cell": each.place.name,
            "scheme": each.cell.label,
            "seed": each.cell.seed,
            "made, UTC": made["created"][:19].replace("T", " "),
            "SHA-256 of the summary": made["files"]["summary.parquet"]["sha256"],
            "world": "simulated" if not is_live else "live, valid" if is_valid else "live, INVALID",
            "commit": made["commit"] or "-",
            "Python": made["python"],
            **{name: made[name] for name in ("results", "engine", "machine")},
        }
        for name, value in values.items():
            columns[name].append(str(value))
    alike = {name: columns[name][0] for name in _OFTEN_ALIKE if len(set(columns[name])) == 1}
    return alike, {name: values for name, values in columns.items() if name not in alike}


def _in_script(value: object) -> Any:
    """Return JSON for a script element, escaped so that it cannot end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return template.raw(text)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
