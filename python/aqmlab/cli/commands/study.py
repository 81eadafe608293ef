"""``aqmlab study``: repetition of a published study, and evaluation of a congestion control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli import evaluation
from aqmlab.cli.app import App
from aqmlab.cli.cells import run_cells
from aqmlab.cli.options import Changes, Json, Out, Workers, World, read_seeds
from aqmlab.cli.output import check_directory, print_json, report_testbed
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.studies import STUDIES, find

if TYPE_CHECKING:
    from aqmlab.studies.kit.study import Length, Study


app = App()


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join((*STUDIES, evaluation.NAME))}.")],
    quick: Annotated[bool, typer.Option("--quick", help="Use short runs, for results in a few minutes.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Use runs as long and as many as the paper's.")] = False,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|N-M", help="Replace the length's repetitions: seeds 1 to N, or N to M.")
    ] = None,
    aqm: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEME", help="Replace the study's schemes, as for compare. May be repeated."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PART", help="With le2025: run one of its links and decide the claims on it: then or now."
        ),
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
    control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With rfc9743: the congestion control, a name of tcp.congestion or module:Class."
        ),
    ] = None,
    clause: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION", help="With rfc9743: evaluate only this clause. May be repeated.", show_default="all"
        ),
    ] = None,
    changes: Changes = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Repeat a published study, or evaluate a congestion control.

    A study decides its claims. Its page has the paper's tables next to ours, figures, and the outcome of each claim.
    The record NAME.json next to it has all numbers. --table writes the numbers of all tables, one per row.

    With --world kernel the page NAME-kernel.md has the outcome of each claim over a kernel's TCP, beside the outcomes
    over simulated hosts; it takes about two hours of processor time.

    rfc9743 evaluates the congestion control --control as RFC 9743 (BCP 133) demands, beside CUBIC and Reno under the
    same seeds. Its page, one HTML file, has each clause with its comparisons and a verdict: "meets", "exceeds the harm
    of CUBIC", "not decided by these seeds" or "not covered". --quick has 3 seeds, --full 20; the default is 10, some
    minutes of processor time. --set changes the control's stack, such as tcp.control.beta=0.7.

    Stored cells are not run again, so that an interrupted study resumes.

    Example: aqmlab study rfc9743 --control bbr --quick
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
    if quick and full:
        raise SpecError("--quick: cannot be with --full")
    if name == evaluation.NAME:
        evaluation.refuse_others(
            {"--aqm": bool(aqm), "--only": only is not None, "--world kernel": world is World.KERNEL}, name=name
        )
        evaluation.evaluate(
            control,
            clauses=clause or (),
            changes=changes or (),
            length="quick" if quick else "full" if full else "default",
            seeds=seeds,
            workers=workers,
            out=out,
            pages=pages,
            file=file,
            as_json=as_json,
        )
        return
    evaluation.refuse_others(
        {"--control": control is not None, "--clause": bool(clause), "--set": bool(changes)}, name=name
    )
    selected = find(name)
    if aqm:
        selected = selected.with_schemes([schemes.parse(text) for text in aqm])
    if only is not None:
        selected = selected.only(only)
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
    if world is World.KERNEL:
        from aqmlab.studies.kit.worlds import kernel_length

        if quick or full:
            raise SpecError(f"{'--quick' if quick else '--full'}: cannot be with --world kernel, which has one length")
        length = kernel_length(study)
    else:
        length = study.lengths["quick" if quick else "full" if full else "default"]
    return length if seeds is None else length.repeated(read_seeds(seeds))
