"""The report of a study as one HTML file without scripts: its page, details, and instructions to repeat it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.reports import reproduce, templating
from aqmlab.reports.selection import Choice
from aqmlab.running.progress import ReportProgress, is_interactive
from aqmlab.spec import schemes
from aqmlab.storage.location import local_folder, location
from aqmlab.studies import find
from aqmlab.studies.kit import page
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.stored import stored_results
from aqmlab.studies.kit.study import ProgressCallback, no_progress
from aqmlab.ui import markdown, output_files
from aqmlab.ui.messages import logger


def load_report(out: Path | str, choice: Choice, progress: ProgressCallback = no_progress) -> Report:
    """Return the report of the selected study from its stored results: claims, tables and figures.

    Raises
    ------
    SpecError
        When several studies, or a load, are selected, or no length of the study is complete.
    """
    if len(choice.cells) > 1:
        raise SpecError(f"CELL: a study is reported by itself, got {', '.join(choice.cells)}")
    study = find(choice.cells[0])
    if choice.load is not None:
        raise SpecError(f"load: cannot be with a study, which has loads of its own, got {choice.load:g}")
    if choice.schemes:
        study = study.with_schemes([schemes.parse(text) for text in choice.schemes])
    length, results = stored_results(study, out, _consecutive_seeds(choice))
    return Report.from_results(study, length, results, progress)


def write(out: Path | str, choice: Choice, file: Path) -> None:
    """Write the file, with progress if it is shown or logged.

    Raises
    ------
    SpecError
        As :func:`load_report`.
    """
    with ReportProgress() if is_interactive() or logger.handlers else nullcontext(no_progress) as progress:
        report = load_report(out, choice, progress)
        notes = page.notes_in(local_folder(location(out)) / "studies", report.study.name)
        text = html(report, notes, progress)
    with output_files.opened(file) as output:
        output.write(text.encode())


def html(report: Report, notes: str, progress: ProgressCallback = no_progress) -> str:
    """Return the page of a study with a person's notes; the same cells give the same page."""
    pictures = _figures_as_svg(report, progress)
    cells = [(run, result) for run, results in report.results.items() for result in results]
    metadata = [result.metadata for result in report.distinct.values()]
    return templating.render(
        "study.html",
        title=report.study.title,
        summary=_rendered(page.front(report, notes), pictures),
        details=_rendered(page.behind(report, notes), pictures),
        command=report.command,
        spec=reproduce.toml(next(iter(report.results.values()))[0].cell.resolved),
        experiments=_experiments(report),
        cells=cells,
        pythons=sorted({result["python"] for result in metadata}),
        machines=sorted({result["machine"] for result in metadata}),
    )


def _figures_as_svg(report: Report, progress: ProgressCallback) -> dict[str, str]:
    """Return the figures as SVG, by their paths in the page."""
    with tempfile.TemporaryDirectory() as folder:
        svg_by_path = {}
        for figure in report.figures:
            progress(f"figure {figure.name}")
            path = page.place(report, figure)
            page.draw(figure, Path(folder, path))
            svg_by_path[path] = Path(folder, path).read_text(encoding="utf-8")
    return svg_by_path


def _rendered(text: str, pictures: Mapping[str, str]) -> Any:
    return templating.raw(markdown.html(templating.visible(text), pictures))


def _experiments(report: Report) -> dict[str, str]:
    """Return the differences of each experiment's spec from that of the first."""
    specs = {run: dict(_paths(results[0].cell.resolved)) for run, results in report.results.items()}
    first = next(iter(specs.values()))
    return {
        run: ", ".join(
            [f"{path}={value}" for path, value in spec.items() if first.get(path) != value]
            + [f"no {path}" for path in first if path not in spec]
        )
        for run, spec in specs.items()
    }


def _paths(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield a spec's values with their paths; a list counts as one value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _paths(inner, f"{path}.{name}" if path else name)
    else:
        yield path, json.dumps(value)


def _consecutive_seeds(choice: Choice) -> range | None:
    """Return the selected seeds as a range, which a study needs."""
    if choice.seeds is None:
        return None
    seeds = sorted({*choice.seeds})
    if not seeds or seeds != list(range(seeds[0], seeds[-1] + 1)):
        raise SpecError(f"seeds: must be consecutive in a study, got {seeds}")
    return range(seeds[0], seeds[-1] + 1)
