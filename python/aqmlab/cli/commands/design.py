"""``aqmlab design``: parameters by published design rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import bits_per_second, size_in_bytes
from aqmlab.cli.app import App
from aqmlab.cli.options import Json, read
from aqmlab.cli.output import one_line_errors, print_json, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.spec import schema

if TYPE_CHECKING:
    from aqmlab.design import Design

app = App(name="design", help="Compute parameters for your link by published rules.")

Rate = Annotated[str, typer.Option(help="The link's bit rate.", metavar="RATE")]
MeanPacket = Annotated[str, typer.Option(metavar="SIZE", help="The mean IP packet, which counts as one packet.")]
Overhead = Annotated[str, typer.Option(metavar="SIZE", help="The overhead of a frame.")]


@app.command("ared")
def ared(
    rate: Rate,
    target_delay: Annotated[str, typer.Option(metavar="TIME", help="The target queueing delay.")] = "5 ms",
    mean_packet: MeanPacket = "500 B",
    overhead: Overhead = schema.default("link.overhead"),
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compute Adaptive RED's thresholds and weight, also for RED, after Floyd, Gummadi and Shenker (2001)."""
    from aqmlab import design as rules

    with one_line_errors():
        result = rules.ared(
            packets_per_sec=_capacity(rate, mean_packet, overhead), target_delay_s=read(target_delay, "--target-delay")
        )
    _show_design(result, table, as_json=as_json)


@app.command("pi")
def pi(
    rate: Rate,
    flows: Annotated[float, typer.Option(metavar="N", help="The smallest number of long-lived flows.")],
    rtt_max: Annotated[str, typer.Option(help="The longest round-trip time, queueing included.", metavar="TIME")],
    crossover: Annotated[
        float | None,
        typer.Option(
            metavar="RAD/S",
            help="The crossover frequency of the loop: a higher one is faster and less stable.",
            show_default="the corner frequency of TCP's window",
        ),
    ] = None,
    sampling_hz: Annotated[float, typer.Option(metavar="HZ", help="The sampling frequency of the queue.")] = 160.0,
    mean_packet: MeanPacket = "500 B",
    overhead: Overhead = schema.default("link.overhead"),
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the loop's Bode plot and step response.")
    ] = None,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compute PI's gains and stability margins, after Hollot, Misra, Towsley and Gong (2001).

    Example: aqmlab design pi --rate "100 Mbit/s" --flows 400 --rtt-max "200 ms"
    """
    from aqmlab import design as rules
    from aqmlab.design import plot
    from aqmlab.ui import canvas

    with one_line_errors():
        result = rules.pi(
            packets_per_sec=_capacity(rate, mean_packet, overhead),
            flows=flows,
            rtt_max_s=read(rtt_max, "--rtt-max"),
            crossover=crossover,
            sampling_hz=sampling_hz,
        )
        if figure is not None and (loop := result.loop) is not None:
            title = f"PI for {rate}, at least {flows:g} flows and round trips of at most {rtt_max}"
            canvas.write(figure, lambda canvas_figure: plot.pi_loop(canvas_figure, loop, title=title))
            report_written(figure)
    _show_design(result, table, as_json=as_json)


@app.command("dualpi2")
def dualpi2(
    rtt_max: Annotated[str, typer.Option(metavar="TIME", help="The longest round-trip time.")] = "100 ms",
    target: Annotated[
        str, typer.Option(metavar="TIME", help="The target queueing delay of the Classic queue.")
    ] = "15 ms",
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compute DualPI2's gains, also for PI2, after RFC 9332, Appendix A."""
    from aqmlab import design as rules

    with one_line_errors():
        result = rules.dualpi2(rtt_max_s=read(rtt_max, "--rtt-max"), target_s=read(target, "--target"))
    _show_design(result, table, as_json=as_json)


@app.command("codel")
def codel(
    rate: Rate,
    rtt_max: Annotated[str, typer.Option(metavar="TIME", help="The longest round-trip time.")] = "100 ms",
    mtu: Annotated[str, typer.Option(metavar="SIZE", help=schema.meaning("link.mtu"))] = schema.default("link.mtu"),
    overhead: Overhead = schema.default("link.overhead"),
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compute CoDel's interval and target, also for FQ-CoDel, after RFC 8290, section 5.2."""
    from aqmlab import design as rules

    with one_line_errors():
        result = rules.codel(
            bits_per_sec=read(rate, "--rate", bits_per_second),
            rtt_max_s=read(rtt_max, "--rtt-max"),
            mtu=read(mtu, "--mtu", size_in_bytes),
            overhead=read(overhead, "--overhead", size_in_bytes),
        )
    _show_design(result, table, as_json=as_json)


@app.command("droptail")
def droptail(
    rate: Rate,
    rtt: Annotated[str, typer.Option(help="The mean round-trip time, without queueing.", metavar='"100 ms"')],
    flows: Annotated[float, typer.Option(metavar="N", help="The number of desynchronized long-lived flows.")] = 1.0,
    mean_packet: MeanPacket = "500 B",
    overhead: Overhead = schema.default("link.overhead"),
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Compute drop-tail's queue length, after Villamizar and Song (1994) and Appenzeller et al. (2004)."""
    from aqmlab import design as rules

    with one_line_errors():
        result = rules.droptail(
            packets_per_sec=_capacity(rate, mean_packet, overhead), rtt_s=read(rtt, "--rtt"), flows=flows
        )
    _show_design(result, table, as_json=as_json)


def _show_design(result: Design, file: Path | None, *, as_json: bool) -> None:
    from aqmlab.design import table
    from aqmlab.ui import console

    check_table(file)
    write_table(result.frame(), file)
    if as_json:
        print_json(result.record())
    else:
        console.show(table.design(result))
        print(result.scheme)


def _capacity(rate: str, mean_packet: str, overhead: str) -> float:
    from aqmlab.design import packets_per_sec

    return packets_per_sec(
        bits_per_sec=read(rate, "--rate", bits_per_second),
        mean_packet=read(mean_packet, "--mean-packet", size_in_bytes),
        overhead=read(overhead, "--overhead", size_in_bytes),
    )
