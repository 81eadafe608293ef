"""Pages of a study as Markdown: its page, the details, and their figures.

The page has the outcomes, the findings, and the tables and figures of :attr:`Study.front`, on at most four screens. The
details have all claims with their exact predicates, the notes, and the other tables and figures. Notes are written by
hand in ``NAME-notes.md``: their section *Findings* is on the page, the rest in the details.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from aqmlab._core import SpecError
from aqmlab.studies.kit import index
from aqmlab.studies.kit.claims.review import Cause
from aqmlab.studies.kit.decisions import Decision
from aqmlab.studies.kit.findings import Outcome
from aqmlab.studies.kit.report import Report, write_record
from aqmlab.studies.kit.study import Figure, ProgressCallback, Table, no_progress, text
from aqmlab.ui import canvas

_FINDINGS = re.compile(r"^## Findings\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)

_Shown = TypeVar("_Shown", Table, Figure)


def write_page(report: Report, directory: Path, progress: ProgressCallback = no_progress) -> Path:
    """Write the record, the pages and the figures of a study into a directory, and count the claims there.

    Raises
    ------
    SpecError
        When the directory cannot be written to.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for figure in report.figures:
            progress(f"figure {figure.name}")
            draw(figure, directory / place(report, figure))
        write_record(report, directory / f"{report.study.name}.json")
        write_texts(report, directory)
        index.count(directory)
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return directory / f"{report.study.name}.md"


def write_texts(report: Report, directory: Path) -> None:
    """Write ``NAME.md`` and ``NAME-details.md`` into a directory, with its notes."""
    study, notes = report.study, notes_in(directory, report.study.name)
    written_by = f"<!-- Written by `aqmlab study {study.name}`; notes belong in {study.name}-notes.md. -->"
    page = _joined(
        f"# {study.title}",
        written_by,
        front(report, notes),
        f"[Details]({study.name}-details.md): differences from the original, all claims with exact predicates and"
        " deciding numbers, notes, further tables and figures, sources.",
    )
    details = _joined(
        f"# {study.title}: details",
        written_by,
        f"Details of [the study's page]({study.name}.md). {_made_by(report)}",
        behind(report, notes),
    )
    (directory / f"{study.name}.md").write_text(page + "\n", encoding="utf-8")
    (directory / f"{study.name}-details.md").write_text(details + "\n", encoding="utf-8")


def notes_in(directory: Path, name: str) -> str:
    """Read the notes of a study; empty without any."""
    notes = directory / f"{name}-notes.md"
    return notes.read_text(encoding="utf-8") if notes.is_file() else ""


def place(report: Report, figure: Figure) -> str:
    """Return where a figure lies from the pages that show it."""
    return f"img/{report.study.name}/{figure.name}.svg"


def draw(figure: Figure, file: Path) -> None:
    """Draw a figure into a file, and make its directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.write(file, figure.draw, size=figure.size)


def front(report: Report, notes: str) -> str:
    """Return a study's page as Markdown without its title and the link to its details."""
    subject, *_ = _paragraphs(report.study.about)
    findings = _FINDINGS.search(notes)
    return _joined(
        subject,
        _made_by(report),
        report.study.departures(report.length),
        _outcomes(report),
        findings[0].strip() if findings else "",
        *_tables(_front(report, report.tables)),
        *_figures(report, _front(report, report.figures)),
    )


def behind(report: Report, notes: str) -> str:
    """Return the details as Markdown without their title: differences, claims, notes, further tables and figures."""
    study = report.study
    _, *differences = _paragraphs(study.about)
    tables, figures = _front(report, report.tables), _front(report, report.figures)
    return _joined(
        *differences,
        _claims(report) if report.decisions else "",
        _FINDINGS.sub("", notes).strip(),
        *_tables(table for table in report.tables if table not in tables),
        *_figures(report, [figure for figure in report.figures if figure not in figures]),
        "## Sources",
        "\n".join(f"* {key}: {text}" for key, text in study.sources.items()),
    )


def _made_by(report: Report) -> str:
    made = report.provenance
    cost = made.cost
    return (
        f"Made by `{report.command}`: {report.length}. {cost['cells']:.0f} experiments,"
        f" {cost['simulated_s'] / 3600:,.1f} hours simulated in {cost['cpu_s'] / 60:,.1f} minutes of processor time,"
        f" results number {made.results}, by engine {'; '.join(made.engines)}."
    )


def _outcomes(report: Report) -> str:
    """Return the counts of both readings, the sensitivity of the second to its limits, and its failures."""
    if not report.decisions:
        return ""
    firsts = [decision.registered.outcome for decision in report.decisions if decision.registered]
    conclusions = [decision.conclusion for decision in report.decisions]
    rows = [
        # Some studies have one reading.
        *([_row("first, registered before any result", firsts)] if firsts else []),
        _row("**second**", [conclusion.outcome for conclusion in conclusions]),
        _row("second, at half its limits", [conclusion.at_half for conclusion in conclusions]),
        _row("second, at double its limits", [conclusion.at_double for conclusion in conclusions]),
    ]
    table = Table(name="", title="", columns=("reading", "claims", *(str(each) for each in Outcome)), rows=rows)
    sentence = index.readings(report.study.registration())
    return _joined("## Outcomes", sentence, markdown(table), _failing(report))


def _row(reading: str, outcomes: Sequence[Outcome]) -> list[str | int]:
    return [reading, len(outcomes), *(outcomes.count(each) for each in Outcome)]


_CONTRADICTED_BY: Mapping[Cause, str] = {"none": "", "model": "our runs", "paper": "the paper's own numbers"}
"""The contradiction of a claim that does not hold, by its cause."""


def _failing(report: Report) -> str:
    """List the claims that fail at the second reading, or that the paper contradicts."""
    shown = [
        [decision.id, decision.gist, str(it.outcome), f"{it.held} of {it.parts}", _CONTRADICTED_BY[it.cause]]
        for decision in report.decisions
        if (it := decision.conclusion).cause != "none"
    ]
    if not shown:
        return ""
    columns = ("claim", "statement", "second reading", "parts held", "contradicted by")
    table = markdown(Table(name="", title="", columns=columns, rows=shown))
    summary = f"Claims that fail or that the paper contradicts: {len(shown)}"
    return f"<details><summary>{summary}</summary>\n\n{table}\n\n</details>"


def _claims(report: Report) -> str:
    registration = report.study.registration()
    numbers = (
        "Numbers are means over the seeds, paired where two schemes are compared, with their 95 % intervals; a claim is"
        " undecided where the interval does not settle it."
    )
    return _joined("## Claims", f"{index.readings(registration)} {numbers}", _first(report), _second(report.decisions))


def _first(report: Report) -> str:
    registration = report.study.registration()
    claims = [decision.registered for decision in report.decisions if decision.registered]
    if not claims:
        return ""
    rows = [[it.id, it.place, it.gist, _outcome(it.outcome), it.evidence] for it in claims]
    columns = ("claim", "place", "statement", "outcome", "deciding numbers")
    exact = [f"* {it.id}: {_cell(it.predicate)}." for it in claims]
    return _joined(
        "### First reading",
        f"Decided by results number {registration.results}: {registration.length}.",
        registration.words,
        markdown(Table(name="", title="", columns=columns, rows=rows)),
        _folded("first", exact),
    )


def _second(decisions: Sequence[Decision]) -> str:
    rows = [
        [
            it.id,
            "" if it.registered else it.gist,
            f"“{it.claim.phrase}”",
            _outcome(it.conclusion.outcome),
            f"{it.conclusion.held} of {it.conclusion.parts}",
            f"{it.conclusion.at_half}, {it.conclusion.at_double}",
            _CONTRADICTED_BY[it.conclusion.cause],
            it.conclusion.text(),
        ]
        for it in decisions
    ]
    columns = (
        "claim",
        "added statement",
        "phrase",
        "outcome",
        "parts held",
        "at half, double limits",
        "contradicted by",
        "deciding numbers",
    )
    exact = []
    for it in decisions:
        excluded = [*it.conclusion.contradicted, *it.conclusion.ties]
        parts = _cell("; and ".join(map(str, it.claim.parts)))
        exact.append(f"* {it.id}: {parts}." + (f" Excluded: {_cell('; '.join(excluded))}." if excluded else ""))
    return _joined(
        "### Second reading", markdown(Table(name="", title="", columns=columns, rows=rows)), _folded("second", exact)
    )


def _folded(reading: str, exact: Sequence[str]) -> str:
    lines = "\n".join(exact)
    return f"<details><summary>Exact predicates, {reading} reading</summary>\n\n{lines}\n\n</details>"


def _outcome(outcome: Outcome) -> str:
    return str(outcome) if outcome is Outcome.UNDECIDED else f"**{outcome}**"


def _front(report: Report, shown: Sequence[_Shown]) -> list[_Shown]:
    front = report.study.front
    return [each for each in shown if not front or each.name in front]


def _tables(tables: Iterable[Table]) -> list[str]:
    return [f"## {table.title}\n\n{table.about.strip()}\n\n{markdown(table)}" for table in tables]


def _figures(report: Report, figures: Sequence[Figure]) -> list[str]:
    shown = [f"![{it.caption}]({place(report, it)})\n\n*{it.caption}*" for it in figures]
    return ["## Figures", *shown] if shown else []


def _paragraphs(words: str) -> list[str]:
    return re.split(r"\n\s*\n", words.strip())


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def markdown(table: Table) -> str:
    """Return a table as Markdown: columns of numbers are aligned to the right."""
    numeric = [all(not isinstance(row[n], str) for row in table.rows) for n in range(len(table.columns))]
    lines = [
        "| " + " | ".join(map(_cell, table.columns)) + " |",
        "|" + "|".join("---:" if each else "---" for each in numeric) + "|",
        *("| " + " | ".join(_cell(text(value)) for value in row) + " |" for row in table.rows),
    ]
    return "\n".join(lines)


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")
