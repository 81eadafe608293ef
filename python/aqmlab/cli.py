"""The command line: ``aqmlab compare | run | show | explain | calibrate | aqm | design | study | validate``."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from aqmlab import calibration, catalogue, cli_design, cli_study, own, plot, table, timeline, topology_plot
from aqmlab import show as drawing
from aqmlab._core import SpecError
from aqmlab.calibrate import calibration_cells, fitted
from aqmlab.cell import make_cell, populate
from aqmlab.cli_parts import Json, Out, Workers, one_line_refusals, print_json, read, run_cells
from aqmlab.compare import BASELINE, Comparison, comparison_cells
from aqmlab.explain import Explanation, by_band
from aqmlab.explain import explain as explained
from aqmlab.faults import LawError
from aqmlab.pcap import Pcap, one_a_cell
from aqmlab.progress import RunProgress
from aqmlab.published import Published
from aqmlab.spec import Experiment
from aqmlab.topology import topology
from aqmlab.validate import report as validation_report
from aqmlab.validate import validation_cells

app = typer.Typer(
    help="A laboratory for active queue management: web users, a congested link, a queue discipline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
aqm = typer.Typer(help="The queue disciplines there are.", no_args_is_help=True)
app.add_typer(aqm, name="aqm")
app.add_typer(cli_design.app, name="design")
app.command("study")(cli_study.study)

Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a value, such as users.load=90.")
]
Rtt = Annotated[str, typer.Option(help="Round-trip times: uniform (10 to 150 ms) or general.")]
Warmup = Annotated[str, typer.Option(help="Simulated time before the measured window.")]
Duration = Annotated[str, typer.Option(help="Simulated time of the measured window.")]
Seeds = Annotated[int, typer.Option(min=1, max=1000, help="Repetitions: seeds 1 to N.")]
Baseline = Annotated[
    bool | None,
    typer.Option(
        "--baseline/--no-baseline",
        help="The same network with nothing in the way beside them.",
        show_default="unless a source takes whatever capacity there is",
    ),
]
Paired = Annotated[
    bool, typer.Option("--paired", help="Differences from the first scheme, seed by seed, with 95 % intervals.")
]
PcapFile = Annotated[
    Path | None, typer.Option("--pcap", metavar="FILE", help="Capture the packets of both queues as pcapng.")
]
PcapFrom = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Simulated time from which on.", show_default="the measured window's start"),
]
PcapFor = Annotated[
    str | None, typer.Option(metavar="TIME", help="And for how long.", show_default="to the end of the run")
]
PcapPackets = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="And at most so many packets.", show_default="100000")
]


def main() -> NoReturn:
    """Run the command line: a user's mistake is one line on standard error and exit code 2.

    With ``AQMLAB_TRACEBACK`` set, an error in a law of the user's own is shown with its traceback as well.
    """
    # A polite kill is an interrupt: cells that are not done leave nothing behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(app(standalone_mode=False))
    except typer.TyperException as error:
        mistake = error.format_message()
    except SpecError as error:
        mistake = str(error)
    except LawError as error:
        if os.environ.get("AQMLAB_TRACEBACK"):
            traceback.print_exception(error)
        mistake = str(error)
    print(f"aqmlab: {mistake}", file=sys.stderr)
    sys.exit(2)


@app.command()
def compare(
    schemes: Annotated[
        list[str],
        typer.Argument(
            metavar="SCHEME...",
            help="name or name:key=value,...; ecn=true (or ecn+, ...) is a key of each; module:Class is a law of yours",
        ),
    ],
    load: Annotated[float | None, typer.Option(metavar="PCT", help="Load in percent.", show_default="98")] = None,
    users: Annotated[int | None, typer.Option(metavar="N", help="Users on each side, instead of a load.")] = None,
    rtt: Rtt = "uniform",
    warmup: Warmup = "15 min",
    duration: Duration = "90 min",
    seeds: Seeds = 3,
    baseline: Baseline = None,
    paired: Paired = False,
    workers: Workers = None,
    record: Annotated[str | None, typer.Option(metavar="exchanges", help="Keep a row for each request.")] = None,
    out: Out = Path("results"),
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    as_json: Json = False,
) -> None:
    """Run schemes side by side under the same users, with the uncongested network for scale.

    Example: aqmlab compare --load 98 droptail:limit=240 pi:q_ref=24,ecn=true
    """
    if record not in (None, "exchanges"):
        raise SpecError(f"--record: the table to be had is exchanges, got {record!r}")
    experiment = Experiment(
        users=_without_none(load=load, per_side=users, rtt=rtt),
        protocol={"warmup": warmup, "duration": duration},
        record={"exchanges": record == "exchanges"},
    )
    cells = comparison_cells(
        schemes, experiment, range(1, seeds + 1), calibration.known(out), baseline=baseline, paired=paired
    )
    capture = _pcap(pcap, pcap_from, pcap_for, pcap_packets)
    pcaps = one_a_cell(capture, cells) if capture else {}
    comparison = Comparison(tuple(run_cells(cells, out, workers, pcaps)), paired=paired)
    repetitions = "1 seed" if seeds == 1 else f"{seeds} seeds"
    title = f"{cells[0].describe_users()}, {warmup} + {duration}, {repetitions}"
    files = _response_time_figures(comparison, out, title)
    if as_json:
        print_json({"cells": comparison.cells, "schemes": comparison.schemes})
    else:
        print(title)
        table.show(table.comparison(comparison.schemes), wide=True)
        if comparison.note:
            print(comparison.note)
        print(*files, *(each.file for each in pcaps.values()), sep="\n")


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    changes: Changes = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="It decides all random draws.")] = 1,
    out: Out = Path("results"),
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    as_json: Json = False,
) -> None:
    """Run one experiment with one seed."""
    experiment = Experiment.from_toml(spec, changes=changes or ())
    populated, load = populate(experiment, calibration.known(out))
    cell = make_cell(populated, seed=seed, load_percent=load)
    capture = _pcap(pcap, pcap_from, pcap_for, pcap_packets)
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
    figure: Annotated[Path | None, typer.Option(help="Draw it as a figure, SVG, PNG or PDF.")] = None,
    out: Annotated[Path, typer.Option(help="Results directory, where calibrations are looked for.")] = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the resolved spec instead of a drawing.")] = False,
) -> None:
    """Draw what a spec describes: links, queues, who sends from where to where, and when it is measured.

    Example: aqmlab show examples/gfc2.toml --figure gfc2.svg
    """
    experiment = Experiment.from_toml(spec, changes=changes or ())
    populated, load = populate(experiment, calibration.known(out))
    resolved = make_cell(populated, seed=1, load_percent=load).resolved
    network = topology(experiment, resolved)
    if figure is not None:
        with one_line_refusals():
            topology_plot.save(figure, network, title=spec.stem)
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
    figure: Annotated[Path | None, typer.Option(help="Draw the parts of the response time.")] = None,
    as_json: Json = False,
) -> None:
    """Say where the time of a cell's requests went, by running it again.

    Example: aqmlab explain results/cells/0123456789abcdef --slowest 3
    """
    if sum(each is not None for each in (request, slowest, figure)) > 1:
        raise SpecError("explain: write one of --request, --slowest and --figure")
    if figure is not None:
        with one_line_refusals():
            plot.check_kind(figure)
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
    warmup: Warmup = "15 min",
    duration: Duration = "90 min",
    seeds: Seeds = 1,
    workers: Workers = None,
    out: Out = Path("results"),
    as_json: Json = False,
) -> None:
    """Measure how many users make which load, for later runs with the same results directory."""
    experiment = Experiment(users={"rtt": rtt}, protocol={"warmup": warmup, "duration": duration})
    line = fitted(experiment, run_cells(calibration_cells(experiment, range(1, seeds + 1)), out, workers))
    file = calibration.store(line, out)
    title = f"Uncongested network, {rtt} RTT: {1000 * line.mbps_per_user:.3f} kbit/s a user, R² = {line.r_squared:.5f}"
    figures = plot.save(out / f"calibration-{rtt}", lambda axis: plot.calibration(axis, line), title=title)
    if as_json:
        print_json(calibration.report(line))
    else:
        print(title)
        table.show(table.calibration(calibration.report(line)))
        print(file, *figures, sep="\n")


@app.command()
def validate(
    seeds: Seeds = 3,
    workers: Workers = None,
    out: Out = Path("results"),
    report: Annotated[Path, typer.Option(help="Where the table goes; notes come from *-notes.md beside it.")] = Path(
        "docs/validation.md"
    ),
) -> None:
    """Repeat the published experiments and write ours beside theirs."""
    if not report.parent.is_dir() or report.is_dir():
        raise SpecError(f"--report: must be a file in a directory that is there, got {report}")
    published = Published.shipped("le2003")
    notes = report.with_name(f"{report.stem}-notes.md")
    results = run_cells(validation_cells(published, range(1, seeds + 1), calibration.known(out)), out, workers)
    report.write_text(validation_report(published, results, notes.read_text() if notes.is_file() else ""))
    print(report)


@aqm.command("list")
def list_disciplines(as_json: Json = False) -> None:
    """Name the queue disciplines."""
    entries = catalogue.disciplines().values()
    if as_json:
        print_json([_without_page(asdict(entry)) for entry in entries])
    else:
        table.show(table.disciplines(entries))


@aqm.command("show")
def show_discipline(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: Json = False) -> None:
    """Show a discipline's page and its parameters with their units, defaults, meanings and sources."""
    try:
        entry = own.discipline(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    if as_json:
        print_json(asdict(entry))
    else:
        table.show_page(entry)


def _pcap(file: Path | None, from_: str | None, for_: str | None, packets: int | None) -> Pcap | None:
    given = {"--pcap-from": from_, "--pcap-for": for_, "--pcap-packets": packets}
    if file is None:
        for option, value in given.items():
            if value is not None:
                raise SpecError(f"{option}: is about --pcap, which is not given, got {value}")
        return None
    with one_line_refusals():
        from_s = None if from_ is None else read(from_, "--pcap-from")
        for_s = None if for_ is None else read(for_, "--pcap-for")
    return Pcap(file=file, **_without_none(from_s=from_s, for_s=for_s, packets=packets))


def _show_parts(explanation: Explanation, figure: Path | None, *, as_json: bool) -> None:
    bands = by_band(explanation.requests)
    if figure is not None:
        with one_line_refusals():
            plot.write(figure, lambda canvas: plot.explanation(canvas, bands, title=explanation.title))
    if as_json:
        print_json({"cell": str(explanation.directory), "bands": bands.to_dicts()})
    else:
        print(explanation.title)
        table.show(table.explanation(bands.to_dicts()))


def _show_timelines(explanation: Explanation) -> None:
    rows = explanation.requests.to_dicts()
    print(explanation.title)
    table.show(table.requests(rows), wide=True)
    for row in rows:
        moments = explanation.timeline(row["request"]).to_dicts()
        print(f"Request {row['request']:,}")
        table.show(table.timeline(timeline.lines(moments, row["request_bytes"], row["response_bytes"])))


def _response_time_figures(comparison: Comparison, out: Path, title: str) -> list[Path]:
    curves = comparison.response_times()
    return [
        *plot.save(
            out / "response-times-cdf",
            lambda axis: plot.response_time_cdf(axis, curves, baseline=BASELINE),
            title=title,
        ),
        *plot.save(
            out / "response-times-ccdf",
            lambda axis: plot.response_time_ccdf(axis, curves, baseline=BASELINE),
            title=title,
        ),
    ]


def _without_page(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "page"}


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
