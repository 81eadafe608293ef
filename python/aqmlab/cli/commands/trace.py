"""``aqmlab trace``: files of link capacity over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Figure, Json, read
from aqmlab.cli.output import check_figure, one_line_errors, print_json, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App(name="trace", help="Draw, convert and download traces of capacity.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="Rates as CSV or JSON, or lines of Mahimahi.")]
Bin = Annotated[
    str | None,
    typer.Option("--bin", metavar="TIME", help="Length of a mean of Mahimahi's opportunities.", show_default="100 ms"),
]


@app.command("show")
def show_trace(
    trace_file: File,
    bin_length: Bin = None,
    figure: Figure = None,
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Draw the rates of a trace over its period.

    Example: aqmlab trace show examples/walk.csv --figure walk.svg
    """
    from aqmlab.traces import drawing, formats
    from aqmlab.ui import canvas, console

    check_figure(figure)
    check_table(file)
    trace = formats.read(trace_file, _bin_s(bin_length))
    write_table(drawing.frame(trace), file)
    if figure is not None:
        with one_line_errors():
            canvas.write(figure, lambda drawn: drawing.figure(trace, drawn, title=trace_file.name))
        report_written(figure)
    if as_json:
        print_json(trace.summary() | {"seconds": trace.seconds, "mbps": trace.mbps})
        return
    print(drawing.text(trace))
    print()
    console.show(drawing.table(trace))


@app.command("convert")
def convert_trace(
    source: File,
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="The new file: .csv or .json for rates, else lines of Mahimahi."),
    ],
    bin_length: Bin = None,
) -> None:
    """Convert between rates and lines of Mahimahi.

    A source may also be a JSON list of tables with duration_ms and bandwidth_kbps; their other keys are left out.

    Example: aqmlab trace convert examples/walk.csv walk.trace
    """
    from aqmlab.traces import formats

    trace = formats.read(source, _bin_s(bin_length))
    with one_line_errors():
        formats.write(trace, target)
    report_written(target)


@app.command("fetch")
def fetch_trace(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the file.")],
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    sha256: Annotated[str, typer.Option("--sha256", metavar="HEX", help="The checksum that the file must have.")],
) -> None:
    """Download a public trace by its address and checksum.

    No trace comes with aqmlab, because the licences of most are unclear. Read that of the one you use.

    Example: aqmlab trace fetch https://example.org/lte.up lte.up --sha256 9f86d081...
    """
    from aqmlab.traces import download

    with one_line_errors():
        is_new = download.fetch(url, target, sha256)
    print(f"{target}: {'downloaded' if is_new else 'is there already'}")


def _bin_s(length: str | None) -> float | None:
    if length is None:
        return None
    with one_line_errors():
        seconds = read(length, "--bin")
    if seconds <= 0:
        raise SpecError(f"--bin: must be above 0 s, got {length}")
    return seconds
