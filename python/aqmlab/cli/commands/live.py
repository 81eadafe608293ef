"""``aqmlab live``, ``parity``: experiments over the kernel's TCP. ``aqmlab doctor``: the machine's capabilities."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import (
    Changes,
    Figure,
    Json,
    Out,
    PcapFile,
    PcapFor,
    PcapFrom,
    PcapPackets,
    Seeds,
    Spec,
    Watch,
    pcap_of,
    read_seeds,
)
from aqmlab.cli.output import check_figure, one_line_errors, print_json, report_testbed, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.cli.watch import run_watched
from aqmlab.live.settings import DEFAULT, Settings

app = App()


class Device(StrEnum):
    """The device between hosts and router."""

    TUN = "tun"
    VETH = "veth"


LateP99 = Annotated[float, typer.Option(metavar="MS", min=0, help="Invalid if p99 of the packets' lateness is larger.")]
LateP999 = Annotated[
    float, typer.Option(metavar="MS", min=0, help="Invalid if p99.9 of the packets' lateness is larger.")
]
LateReads = Annotated[
    float, typer.Option(metavar="MS", min=0, help="Invalid if p99 of the lateness of the router's reads is larger.")
]
LateUsers = Annotated[
    float, typer.Option(metavar="MS", min=0, help="Invalid if p99 of the lateness of the users' wake-ups is larger.")
]
SocketErrors = Annotated[
    float,
    typer.Option(metavar="PERCENT", min=0, help="Invalid if more ends of connections are socket errors."),
]
CpuLeft = Annotated[
    float,
    typer.Option(
        metavar="PERCENT", min=0, max=100, help="Invalid if less of the processors' time was idle or of low priority."
    ),
]


@app.command()
def live(
    spec: Spec,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]", help="A program to run over the link; it ends the run.", show_default=False
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The program's server, on the other side.", show_default=False),
    ] = None,
    changes: Changes = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of the users' behaviour and of all delays.")] = 1,
    out: Out = "results",
    device: Annotated[
        Device | None,
        typer.Option(
            help="The device between hosts and router; tun needs /dev/net/tun.", show_default="the one that works"
        ),
    ] = None,
    late_p99: LateP99 = DEFAULT.late_p99_ms,
    late_p999: LateP999 = DEFAULT.late_p999_ms,
    late_reads: LateReads = DEFAULT.late_reads_ms,
    late_users: LateUsers = DEFAULT.late_users_ms,
    socket_errors: SocketErrors = DEFAULT.socket_errors_percent,
    cpu_left: CpuLeft = DEFAULT.cpu_left_percent,
    pcap: PcapFile = None,
    pcap_from: PcapFrom = None,
    pcap_for: PcapFor = None,
    pcap_packets: PcapPackets = None,
    watch: Watch = False,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Run an experiment, or any program, over this machine's TCP.

    It runs in real time, in its own network namespaces, without root. A program starts with the measurement window; its
    environment has its server's address in AQMLAB_SERVER. The command has the program's exit code, or 124 if the window
    was too short. With --json the program's output goes to standard error.
    """
    from aqmlab._core import SpecError
    from aqmlab.live.run import run_command, run_live
    from aqmlab.results.numbers import frame
    from aqmlab.running.process import STDERR, STDOUT
    from aqmlab.spec.experiment import Experiment

    check_table(table)
    experiment = Experiment.from_toml(spec, changes=changes or ())
    settings = Settings(
        device=device,
        late_p99_ms=late_p99,
        late_p999_ms=late_p999,
        late_reads_ms=late_reads,
        late_users_ms=late_users,
        socket_errors_percent=socket_errors,
        cpu_left_percent=cpu_left,
    )
    capture = pcap_of(pcap, pcap_from, pcap_for, pcap_packets)
    if watch:
        run_watched(f"live: {spec}", out, ())
    code = 0
    if command:
        result, code = run_command(
            experiment,
            command,
            server=shlex.split(server or ""),
            seed=seed,
            out=out,
            settings=settings,
            pcap=capture,
            output=STDERR if as_json else STDOUT,
        )
    elif server:
        raise SpecError("--server: needs a command after --")
    else:
        result = run_live(experiment, seed=seed, out=out, settings=settings, pcap=capture)
    write_table(frame.result_frame(result), table)
    if as_json:
        print_json(result.record())
    else:
        report_testbed(experiment.testbed)
        print(result)
        if capture:
            print(f"  packets:   {capture.file}")
    if code:
        raise typer.Exit(code)


@app.command()
def parity(
    spec: Spec,
    schemes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCHEME]...", help="Schemes or variants, as for compare.", show_default="the spec's"),
    ] = None,
    changes: Changes = None,
    seeds: Seeds = "3",
    out: Out = "results",
    world: Annotated[
        str, typer.Option(help="The kernel's TCP: live, in real time, or kernel, in virtual time.", metavar="WORLD")
    ] = "live",
    late_p99: LateP99 = DEFAULT.late_p99_ms,
    late_p999: LateP999 = DEFAULT.late_p999_ms,
    late_reads: LateReads = DEFAULT.late_reads_ms,
    late_users: LateUsers = DEFAULT.late_users_ms,
    socket_errors: SocketErrors = DEFAULT.socket_errors_percent,
    cpu_left: CpuLeft = DEFAULT.cpu_left_percent,
    figure: Figure = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compare an experiment over a kernel's TCP and simulated.

    The seeds are the same in both. Live runs are sequential, in real time; invalid ones are left out of all means. With
    --world kernel a kernel runs in virtual time, and each run is valid.
    """
    from aqmlab.live import parity as parity_module
    from aqmlab.live import table
    from aqmlab.spec.experiment import Experiment
    from aqmlab.ui import canvas, console

    experiment = Experiment.from_toml(spec, changes=changes or ())
    check_figure(figure)
    check_table(file)
    settings = Settings(
        late_p99_ms=late_p99,
        late_p999_ms=late_p999,
        late_reads_ms=late_reads,
        late_users_ms=late_users,
        socket_errors_percent=socket_errors,
        cpu_left_percent=cpu_left,
    )
    report = parity_module.parity(
        *(schemes or ()),
        experiment=experiment,
        seeds=list(read_seeds(seeds)),
        out=out,
        settings=settings,
        world=world,
    )
    if figure is not None:
        with one_line_errors():
            canvas.write(figure, lambda canvas_figure: table.overlay(canvas_figure, report))
        report_written(figure)
    write_table(report.frame(), file)
    if as_json:
        print_json({"schemes": report.records})
    else:
        report_testbed(experiment.testbed)
        console.show(table.parity_table(report))
        for line in table.captions(report):
            print(line)


@app.command()
def doctor(
    profile: Annotated[
        bool, typer.Option("--profile", help="Print this kernel's TCP as a table for specs, without checks.")
    ] = False,
    apparmor: Annotated[
        bool, typer.Option("--apparmor", help="Print an AppArmor profile for the program, without checks.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check this machine for aqmlab live and --world kernel.

    For each missing capability it says what you lose and how to fix it. The exit code is 1 if live runs are impossible.
    """
    from dataclasses import asdict

    from aqmlab._core import SpecError
    from aqmlab.live import doctor

    if apparmor:
        if profile or as_json:
            raise SpecError("--apparmor: cannot be with another option")
        print(doctor.apparmor())
        return
    if profile:
        _show_profile(as_json=as_json)
        return

    report = doctor.examine()
    if as_json:
        print_json(asdict(report))
    else:
        print(report)
    if not report.can_run:
        raise typer.Exit(1)


def _show_profile(*, as_json: bool) -> None:
    from aqmlab.live import profile

    settings = profile.kernel_profile()
    if as_json:
        print_json({"tcp": settings})
    else:
        print(profile.as_toml(settings))
