"""The page ``NAME-kernel.md`` of a study: its claims over the TCP of a Linux kernel, beside the simulator's."""

from __future__ import annotations

from pathlib import Path

from aqmlab._core import SpecError, results_number
from aqmlab.studies.kit.page import markdown, notes_in
from aqmlab.studies.kit.worlds import HOSTS, KERNEL, WorldsReport


def write_worlds_page(report: WorldsReport, directory: Path) -> Path:
    """Write the page into a directory, with the notes of ``NAME-kernel-notes.md``.

    Raises
    ------
    SpecError
        When the directory cannot be written to.
    """
    file = directory / f"{report.study.name}-kernel.md"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file.write_text(page(report, notes_in(directory, file.stem)), encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return file


def page(report: WorldsReport, notes: str) -> str:
    """Return the page as Markdown."""
    study, command = report.study, report.study.command(report.length)
    outcomes, agreement, cost, claims = report.tables
    differences = report.differences()
    parts = [
        f"# {study.title}: the claims over the TCP of Linux",
        f"<!-- Written by `{command}`; notes belong in {study.name}-kernel-notes.md. -->",
        _SUBJECT.format(
            study=study.name,
            length=report.length,
            kernel=report.kernel,
            results=results_number(),
            command=command,
            users=_USERS if report.has_users else "",
            engines="; ".join(report.provenance(KERNEL).engines),
        ),
        notes.strip(),
        *(f"## {table.title}\n\n{table.about}\n\n{markdown(table)}" for table in (outcomes, agreement)),
        f"## {differences.title}\n\n{markdown(differences) if differences.rows else _NO_DIFFERENCES}",
        *(f"## {table.title}\n\n{table.about}\n\n{markdown(table)}" for table in (claims, cost)),
    ]
    return "\n\n".join(part.replace("\n\n\n\n", "\n\n") for part in parts if part) + "\n"


_SUBJECT = """\
Every claim of [the study]({study}.md) is decided three times, with the same users, links and seeds, at one length.
The hosts are those of a Linux kernel [in virtual time](../guide/kernel.md), simulated ones of the profile `linux-6`,
and simulated ones of the paper.{users}

* Length: {length}. It is short, so that more claims stay undecided than on the study's page.
* Kernel: Linux {kernel}, with CUBIC and its other defaults.
* Command: `{command}`, results number {results}, by engine {engines}.

A claim is *not covered* if it needs records of each request, which the kernel's world has not."""

_USERS = """
The number of users for a load comes from the calibration with the paper's hosts, and is the same for all three."""

_NO_DIFFERENCES = f"No claim is decided in opposite ways over two of the {len(HOSTS)} kinds of hosts."
