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
from aqmlab.reports import breakdown, narrative, ranking, reproduce, study, templating
from aqmlab.reports.breakdown import Breakdown
from aqmlab.reports.charts import charts
from aqmlab.reports.selection import Choice, Selection, select
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results import table
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.ui import output_files
from aqmlab.ui.extras import require

_CELL_COLUMNS = ("cell", "scheme", "seed", "made, UTC", "SHA-256 of the summary")
_VEGA = ("vendored/vega.min.js", "vendored/vega-lite.min.js", "vendored/vega-embed.min.js")
"""The libraries that draw, in the order of their dependencies."""

_SHARED_COLUMNS = ("world", "results", "engine", "commit", "Python", "machine")


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
        Add response times by cause, see :func:`aqmlab.explain`. Each cell is run again for it, which takes a few times
        as long as the first run.

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
    selection = select(out, choice)
    # Check before a computation that may take hours.
    output_files.check(file)
    times = breakdown.compute(selection) if explain else {}
    page = html(selection, times)
    with output_files.opened(file) as output:
        output.write(page.encode())
    return file


def html(selection: Selection, times: Breakdown = MappingProxyType({})) -> str:
    """Return the page, with response times by cause if given; the same cells give the same page."""
    vega = VegaBuilder(list(selection.by_label))
    figures = charts(selection, vega, times)
    schemes = selection.schemes
    question, setting = narrative.question(selection, vega.names)
    ranks = ranking.rankings(selection)
    scripts = [*map(templating.read_file, _VEGA), templating.read_file("static/report.js")]
    results = selection.valid + selection.invalid
    shared, provenance = _provenance(results)
    return templating.render(
        "report.html",
        question=question,
        setting=setting,
        answer=narrative.answer(selection, ranks, vega.names),
        rankings=ranks,
        names=vega.names,
        causes=narrative.causes(selection, times, vega.names),
        notes=narrative.notes(selection),
        parts=[*table.parts(schemes), *([breakdown.table(times)] if times else [])],
        captions=table.captions(schemes, ()),
        charts=figures,
        styles=vega.styles,
        data=_in_script({"schemes": list(vega.styles), "charts": {chart.name: chart.record() for chart in figures}}),
        results=results,
        shared=shared,
        provenance=provenance,
        schemes=selection.by_label,
        as_json=lambda value: json.dumps(value, indent=2),
        zip=zip,
        steps=reproduce.steps(selection),
        explainable=next((result for result in selection.valid if reproduce.is_explainable(result)), None),
        scripts=[templating.raw(script) for script in scripts],
        hashes=[_hash(script) for script in scripts],
    )


def _provenance(results: Sequence[Result]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the provenance of cells: the values that all of them share, and the columns of a table of the others."""
    columns: dict[str, list[str]] = {name: [] for name in (*_CELL_COLUMNS, *_SHARED_COLUMNS)}
    for result in results:
        metadata = result.metadata
        is_live, is_valid = "live" in metadata, metadata.get("live", {}).get("valid")
        values = {
            "cell": result.location.name,
            "scheme": result.cell.label,
            "seed": result.cell.seed,
            "made, UTC": metadata["created"][:19].replace("T", " "),
            "SHA-256 of the summary": metadata["files"]["summary.parquet"]["sha256"],
            "world": result.cell.world if not is_live else "live, valid" if is_valid else "live, INVALID",
            "commit": metadata["commit"] or "-",
            "Python": metadata["python"],
            **{name: metadata[name] for name in ("results", "engine", "machine")},
        }
        for name, value in values.items():
            columns[name].append(str(value))
    shared = {name: columns[name][0] for name in _SHARED_COLUMNS if len(set(columns[name])) == 1}
    return shared, {name: values for name, values in columns.items() if name not in shared}


def _in_script(value: object) -> Any:
    """Return JSON for a script element, escaped so that it cannot end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return templating.raw(text)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
