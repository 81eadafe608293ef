"""A study's page: its claims, tables and figures as Markdown, with the figures beside it."""

from __future__ import annotations

from pathlib import Path

from aqmlab import _core
from aqmlab._core import SpecError
from aqmlab.show import canvas
from aqmlab.studies.kit.claims import Finding, Outcome, tally
from aqmlab.studies.kit.study import Figure, Report, Table, Tell, nobody, text

_FIGURES = "img"


def write_page(report: Report, directory: Path, tell: Tell = nobody) -> Path:
    """Write the page ``NAME.md`` and its figures into a directory, with the notes of ``NAME-notes.md`` there.

    Raises
    ------
    SpecError
        When the directory cannot be written to.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        figures = []
        for figure in report.figures:
            tell(f"figure {figure.name}")
            figures.append(_draw(report, figure, directory / _FIGURES / report.study.name))
        notes = directory / f"{report.study.name}-notes.md"
        page = directory / f"{report.study.name}.md"
        found = notes.read_text(encoding="utf-8") if notes.is_file() else ""
        page.write_text(_page(report, figures, found), encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return page


def _draw(report: Report, figure: Figure, directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{figure.name}.svg"
    canvas.write(file, figure.draw, size=figure.size)
    return f"![{figure.caption}]({_FIGURES}/{report.study.name}/{file.name})\n\n*{figure.caption}*"


def _page(report: Report, figures: list[str], notes: str) -> str:
    study, cost = report.study, report.cost
    flag = "" if report.length.name == "default" else f" --{report.length.name}"
    parts = [
        f"# {study.title}",
        f"<!-- Written by `aqmlab study {study.name}`; notes belong in {study.name}-notes.md. -->",
        study.about.strip(),
        f"Made by `aqmlab study {study.name}{study.options}{flag}`: {report.length}. {cost['cells']:.0f} experiments,"
        f" {cost['simulated_s'] / 3600:,.1f} hours simulated in {cost['cpu_s'] / 60:,.1f} minutes of processor time,"
        f" results number {_core.results_number()}, by engine {'; '.join(report.engines)}.",
        _claims(report) if report.findings else "",
        notes.strip(),
        *(f"## {table.title}\n\n{table.about.strip()}\n\n{markdown(table)}" for table in report.tables),
        "## Figures" if figures else "",
        *figures,
        "## Sources",
        "\n".join(f"* {key}: {text}" for key, text in study.sources.items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _claims(report: Report) -> str:
    counted = tally([finding.outcome for _, finding in report.findings])
    how = (
        "Numbers are means over the seeds, paired where two schemes are compared, with their 95 % intervals; a claim is"
        " undecided where the interval does not settle it."
    )
    lines = ["| claim | place | what is claimed | outcome | what decided |", "|---|---|---|---|---|"]
    for claim, finding in report.findings:
        texts = (claim.id, claim.place, claim.gist, _outcome(finding), finding.text())
        lines.append("| " + " | ".join(map(_cell, texts)) + " |")
    exact = "\n".join(f"* {claim.id}: {_cell(str(claim.predicate))}." for claim, _ in report.findings)
    details = f"<details><summary>What each claim says exactly</summary>\n\n{exact}\n\n</details>"
    return "\n\n".join(["## Claims", f"{counted}. {how}", "\n".join(lines), details])


def _outcome(finding: Finding) -> str:
    return str(finding.outcome) if finding.outcome is Outcome.UNDECIDED else f"**{finding.outcome}**"


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
