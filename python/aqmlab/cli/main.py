"""The command line: ``aqmlab compare | run | show | explain | calibrate | aqm | design | study | validate``."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from aqmlab._core import SpecError, engine_version, results_number
from aqmlab.cli import compare as cli_compare
from aqmlab.cli import design as cli_design
from aqmlab.cli import store as cli_store
from aqmlab.cli import study as cli_study
from aqmlab.cli.parts import (
    RTT_HELP,
    App,
    Changes,
    Interrupted,
    Json,
    Out,
    PcapFile,
    PcapFor,
    PcapFrom,
    PcapPackets,
    Seeds,
    Workers,
    check_figure,
    one_line_refusals,
    pcap_asked_for,
    print_json,
    read_seeds,
    run_cells,
    tell_written,
)
from aqmlab.disciplines.custom.errors import LawError
from aqmlab.running.integrity import StoreError
from aqmlab.show import messages, streams

if TYPE_CHECKING:
    from aqmlab.explain import Explanation

app = App(add_completion=True)
aqm = App(help="The queue disciplines there are.")
app.command("compare", options_metavar="[OPTIONS] [SPEC.toml]")(cli_compare.compare)
app.add_typer(aqm, name="aqm")
app.add_typer(cli_design.app, name="design")
app.command("study")(cli_study.study)
app.command("ls")(cli_store.ls)
app.command("rm")(cli_store.rm)

Rtt = Annotated[str, typer.Option(metavar="NAME|FILE", help=RTT_HELP)]
Workload = Annotated[
    str, typer.Option(metavar="NAME|FILE", help="What users do: unc-2001, or a TOML or JSON file with your table.")
]
Warmup = Annotated[str, typer.Option(metavar="TIME", help="Simulated time before the measured window.")]
Duration = Annotated[str, typer.Option(metavar="TIME", help="Simulated time of the measured window.")]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it as a figure, SVG, PNG or PDF.")]

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line: a user's mistake is one line on standard error and exit code 2.

    What is no mistake but cannot be, such as a full disk, has the exit code 1; an interrupt 130. With
    ``AQMLAB_TRACEBACK`` set, an error in a custom law is shown with its traceback as well.
    """
    # A polite kill is an interrupt: cells that are not done leave nothing behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    streams.write_plainly()
    with messages.heard():
        code, what = _outcome()
        if what:
            messages.logger.error(what)
    sys.exit(code)


def _outcome() -> tuple[int, str]:
    """Run the command that was typed: its exit code, and what there is to say about it."""
    try:
        code = app(prog_name="aqmlab", standalone_mode=False) or 0
        streams.flush()
    except typer.TyperException as error:
        mistake = error.format_message()
        if mistake.startswith("Usage:"):
            # Where a command is missing, typer says which there are.
            print(mistake, file=sys.stderr)
            mistake = ""
        return 2, mistake
    except SpecError as error:
        return 2, str(error)
    except LawError as error:
        if os.environ.get("AQMLAB_TRACEBACK"):
            traceback.print_exception(error)
        return 2, str(error)
    except StoreError as error:
        return 1, str(error)
    except Interrupted as error:
        return _INTERRUPTED, str(error)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # Whoever read has read enough.
        streams.give_up()
        return 1, ""
    except OSError as error:
        streams.give_up()
        return 1, f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}"
    # The parser of the command line answers an interrupt by this code.
    return code, "interrupted" if code == _INTERRUPTED else ""


def _print_version(asked: bool) -> None:
    if asked:
        print(f"aqmlab {engine_version()}, results {results_number()}")
        raise typer.Exit


@app.callback()
def laboratory(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compare queue disciplines under thousands of web users, or any traffic, on a congested link."""


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    changes: Changes = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**64 - 1, help="It decides all random draws.")] = 1,
    out: Out = Path("results"),
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    as_json: Json = False,
) -> None:
    """Run one experiment with one seed."""
    from aqmlab.running.calibration import lines
    from aqmlab.running.cell import make_cell, populate
    from aqmlab.spec.experiment import Experiment

    experiment = Experiment.from_toml(spec, changes=changes or ())
    populated, load = populate(experiment, lines.known(out))
    cell = make_cell(populated, seed=seed, load_percent=load)
    capture = pcap_asked_for(pcap, pcap_from, pcap_for, pcap_packets)
    (result,) = run_cells([cell], out, workers=1, pcaps={cell.key: capture} if capture else {})
    if as_json:
        print_json(result.record())
    else:
        print(result)
        if capture:
            print(f"  packets:   {capture.file}")


@app.command()
def show(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    changes: Changes = None,
    figure: Figure = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Results directory, where calibrations are looked for.")
    ] = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the resolved spec instead of a drawing.")] = False,
) -> None:
    """Draw what a spec describes.

    Links, queues, who sends from where to where, and when it is measured.

    Example: aqmlab show examples/gfc2.toml --figure gfc2.svg
    """
    from aqmlab.running.calibration import lines
    from aqmlab.running.cell import make_cell, populate
    from aqmlab.spec.experiment import Experiment
    from aqmlab.topology import drawing, plot
    from aqmlab.topology.network import topology

    check_figure(figure)
    experiment = Experiment.from_toml(spec, changes=changes or ())
    populated, load = populate(experiment, lines.known(out))
    resolved = make_cell(populated, seed=1, load_percent=load).resolved
    network = topology(experiment, resolved)
    if figure is not None:
        with one_line_refusals():
            plot.save(figure, network, title=spec.stem)
        tell_written(figure)
    if as_json:
        print_json(resolved)
    else:
        drawing.show(network, title=spec.stem)


@app.command()
def explain(
    cell: Annotated[Path, typer.Argument(metavar="CELL", help="A cell: a directory below results/cells.")],
    request: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The timeline of this request: its row in the table exchanges, counted from 0 in the order in which"
            " requests are completed in the measured window.",
        ),
    ] = None,
    slowest: Annotated[int | None, typer.Option(metavar="K", help="The timelines of so many slowest requests.")] = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Say where the time of a cell's requests went.

    The cell is run again for it.

    Example: aqmlab explain results/cells/0123456789abcdef --slowest 3
    """
    from aqmlab.explain import explain as explained
    from aqmlab.running.progress import RunProgress

    if sum(each is not None for each in (request, slowest, figure)) > 1:
        raise SpecError("explain: write one of --request, --slowest and --figure")
    check_figure(figure)
    with RunProgress(cell.name) as watch:
        explanation = explained(cell, request=request, slowest=slowest, watch=watch)
    if request is None and slowest is None:
        _show_parts(explanation, figure, as_json=as_json)
    elif as_json:
        print_json(explanation.record())
    else:
        _show_timelines(explanation)


@app.command()
def calibrate(
    rtt: Rtt = "uniform",
    workload: Workload = "unc-2001",
    users: Annotated[
        int, typer.Option(metavar="N", min=5, max=5_000_000, help="The most users on each side to measure with.")
    ] = 17_500,
    warmup: Warmup = "15 min",
    duration: Duration = "90 min",
    seeds: Seeds = "1",
    workers: Workers = None,
    out: Out = Path("results"),
    as_json: Json = False,
) -> None:
    """Measure how many users make which load.

    Later runs with the same results directory go by it.
    """
    from aqmlab.running.calibration import lines
    from aqmlab.running.calibration.cells import calibration_cells, fitted, up_to
    from aqmlab.show import plot, table
    from aqmlab.spec.experiment import Experiment

    # Its line is added to those that are kept there: whether they can be read is to be known before hours of runs.
    lines.known(out)
    experiment = Experiment(users={"rtt": rtt, "workload": workload}, protocol={"warmup": warmup, "duration": duration})
    cells = calibration_cells(experiment, read_seeds(seeds), up_to(users))
    line = fitted(experiment, run_cells(cells, out, workers))
    file = lines.store(line, out)
    slope = f"{1000 * line.mbps_per_user:.3f} kbit/s a user, R² = {line.r_squared:.5f}"
    title = f"Uncongested network, {line.rtt} RTT: {slope}"
    figures = plot.save(out / f"calibration-{line.rtt}", lambda axis: plot.calibration(axis, line), title=title)
    if as_json:
        print_json(lines.report(line))
    else:
        print(title)
        table.show(table.calibration(lines.report(line)))
        print(file, *figures, sep="\n")


@app.command()
def validate(
    seeds: Seeds = "3",
    workers: Workers = None,
    out: Out = Path("results"),
    report: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the table goes; notes come from *-notes.md beside it.")
    ] = Path("docs/validation.md"),
) -> None:
    """Repeat published experiments; write ours beside theirs."""
    from aqmlab.running.calibration import lines
    from aqmlab.studies.kit.published import Published
    from aqmlab.studies.validate import report as validation_report
    from aqmlab.studies.validate import validation_cells

    if not report.parent.is_dir() or report.is_dir():
        raise SpecError(f"--report: must be a file in a directory that is there, got {report}")
    published = Published.shipped("le2003")
    notes = report.with_name(f"{report.stem}-notes.md")
    results = run_cells(validation_cells(published, read_seeds(seeds), lines.known(out)), out, workers)
    found = notes.read_text(encoding="utf-8") if notes.is_file() else ""
    report.write_text(validation_report(published, results, found), encoding="utf-8")
    print(report)


@aqm.command("list")
def list_disciplines(as_json: Json = False) -> None:
    """Name the queue disciplines."""
    from aqmlab.disciplines import catalogue
    from aqmlab.show import table

    entries = catalogue.disciplines().values()
    if as_json:
        print_json([_without_page(asdict(entry)) for entry in entries])
    else:
        table.show(table.disciplines(entries))


@aqm.command("show")
def show_discipline(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: Json = False) -> None:
    """Show a discipline's page and its parameters with their units, defaults, meanings and sources."""
    from aqmlab.disciplines.custom import laws
    from aqmlab.show import table

    try:
        entry = laws.discipline(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    if as_json:
        print_json(asdict(entry))
    else:
        table.show_page(entry)


def _show_parts(explanation: Explanation, figure: Path | None, *, as_json: bool) -> None:
    from aqmlab.explain import by_band
    from aqmlab.show import plot, table

    bands = by_band(explanation.requests)
    if figure is not None:
        with one_line_refusals():
            plot.write(figure, lambda canvas: plot.explanation(canvas, bands, title=explanation.title))
        tell_written(figure)
    if as_json:
        print_json({"cell": str(explanation.directory), "bands": bands.to_dicts()})
    else:
        print(explanation.title)
        table.show(table.explanation(bands.to_dicts()))


def _show_timelines(explanation: Explanation) -> None:
    from aqmlab.explain import timeline
    from aqmlab.show import table

    rows = explanation.requests.to_dicts()
    print(explanation.title)
    table.show(table.requests(rows))
    for row in rows:
        moments = explanation.timeline(row["request"]).to_dicts()
        print(f"Request {row['request']:,}")
        table.show(table.timeline(timeline.lines(moments, row["request_bytes"], row["response_bytes"])))


def _without_page(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "page"}
