"""``aqmlab study``: repetition of a published study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import Json, Out, Workers, World, read_seeds
from aqmlab.cli.output import check_directory, print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.studies import STUDIES, find

if TYPE_CHECKING:
    from aqmlab.studies.kit.study import Length, Study


app = App()


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(STUDIES)}.")],
    quick: Annotated[bool, typer.Option("--quick", help="Use short runs, for results in a few minutes.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Use runs as long and as many as the paper's.")] = False,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|N-M", help="Replace the length's repetitions: seeds 1 to N, or N to M.")
    ] = None,
    aqm: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEME", help="Replace the study's schemes, as for compare. May be repeated."),
    ] = None,
    world: Annotated[
        World,
        typer.Option(
            help="With kernel: decide the claims over the TCP of a Linux kernel in virtual time, and over simulated"
            " hosts, at a length of its own."
        ),
    ] = World.SIMULATED,
    workers: Workers = None,
    out: Out = "results",
    pages: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the page and its figures.", show_default="OUT/studies"),
    ] = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Repeat a published study and decide its claims.

    The page has the paper's tables next to ours, figures, and the outcome of each claim. The record NAME.json
    next to it has all numbers. --table writes the numbers of all tables, one per row.

    With --world kernel the page NAME-kernel.md has the outcome of each claim over a kernel's TCP, beside the outcomes
    over simulated hosts; it takes about two hours of processor time.

    Stored cells are not run again, so that an interrupted study resumes.
    """
    from aqmlab.cells import calibration_model
    from aqmlab.running.progress import ReportProgress
    from aqmlab.spec import schemes
    from aqmlab.storage.location import location
    from aqmlab.storage.marker import folder_for_users
    from aqmlab.studies.kit import table
    from aqmlab.studies.kit.page import write_page
    from aqmlab.studies.kit.report import Report
    from aqmlab.studies.kit.study import study_cells
    from aqmlab.ui import console

    check_table(file)
    selected = find(name)
    if aqm:
        selected = selected.with_schemes([schemes.parse(text) for text in aqm])
    length = _length(selected, world, quick=quick, full=full, seeds=seeds)
    if pages is not None:
        check_directory("--pages", pages)
    directory = pages or folder_for_users(location(out), "studies")
    if world is World.KERNEL:
        _study_in_kernel(selected, length, out, workers, directory, file, as_json=as_json)
        return
    cells = study_cells(selected, length, calibration_model.load_calibrations(out))
    results = {
        result.cell: result for result in run_cells([cell for group in cells.values() for cell in group], out, workers)
    }
    by_run = {name: [results[cell] for cell in group] for name, group in cells.items()}
    with ReportProgress() as progress:
        report = Report.from_results(selected, length, by_run, progress)
        page = write_page(report, directory, progress)
    write_table(table.numbers_frame(report.tables), file)
    if as_json:
        claims = [{"study": name, **decision.described()} for decision in report.decisions]
        print_json({**report.record(), "claims": claims, "page": str(page)})
        return
    for testbed in dict.fromkeys(cell.testbed for group in cells.values() for cell in group):
        report_testbed(testbed)
    for numbers_table in report.tables:
        console.show(table.numbers(numbers_table))
    if report.decisions:
        console.show(table.claims(report.decisions))
    print(page)


def _study_in_kernel(
    study: Study,
    length: Length,
    out: str,
    workers: int | None,
    directory: Path,
    file: Path | None,
    *,
    as_json: bool,
) -> None:
    """Run the study with each kind of hosts, and write the page that compares them."""
    from aqmlab.cells.calibration_model import load_calibrations
    from aqmlab.running.progress import ReportProgress
    from aqmlab.studies.kit import table, worlds
    from aqmlab.studies.kit.worlds_page import write_worlds_page
    from aqmlab.ui import console

    calibrations = load_calibrations(out)
    cells = {hosts.name: worlds.hosts_cells(study, length, hosts, calibrations) for hosts in worlds.HOSTS}
    every_cell = [cell for runs in cells.values() for group in runs.values() for cell in group]
    results = {result.cell: result for result in run_cells(every_cell, out, workers)}
    report = worlds.WorldsReport(
        study=study,
        length=length,
        results={
            name: {run: [results[cell] for cell in group] for run, group in runs.items()}
            for name, runs in cells.items()
        },
    )
    with ReportProgress() as progress:
        progress("claims")
        page = write_worlds_page(report, directory)
    write_table(table.numbers_frame(report.tables), file)
    if as_json:
        print_json({**report.record(), "page": str(page)})
        return
    for numbers_table in report.tables:
        console.show(table.numbers(numbers_table))
    print(page)


def _length(study: Study, world: World, *, quick: bool, full: bool, seeds: str | None) -> Length:
    if quick and full:
        raise SpecError("--quick: cannot be with --full")
    if world is World.KERNEL:
        from aqmlab.studies.kit.worlds import kernel_length

        if quick or full:
            raise SpecError(f"{'--quick' if quick else '--full'}: cannot be with --world kernel, which has one length")
        length = kernel_length(study)
    else:
        length = study.lengths["quick" if quick else "full" if full else "default"]
    return length if seeds is None else length.repeated(read_seeds(seeds))
