"""``aqmlab explain``: response times of a cell's requests by cause."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Figure, Json
from aqmlab.cli.output import check_figure, one_line_errors, print_json, report_written
from aqmlab.cli.tables import TableFile, check_table, write_table

if TYPE_CHECKING:
    from aqmlab.explanations import Explanation

app = App()


@app.command()
def explain(
    cell: Annotated[Path, typer.Argument(metavar="CELL", help="The directory of a cell, below results/cells.")],
    request: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Show the timeline of this request: its row in the table exchanges, from 0, in the order of completion"
            " in the measurement window.",
        ),
    ] = None,
    slowest: Annotated[
        int | None, typer.Option(metavar="K", help="Show the timelines of the K slowest requests.")
    ] = None,
    figure: Figure = None,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Explain response times of a cell's requests by cause.

    The cell is run again. --table writes the parts of response times; with --request or --slowest of each request.

    Example: aqmlab explain results/cells/0123456789abcdef --slowest 3
    """
    from aqmlab.explanations import explain as explain_cell
    from aqmlab.running.progress import RunProgress

    if sum(option is not None for option in (request, slowest, figure)) > 1:
        raise SpecError("explain: write one of --request, --slowest and --figure")
    check_figure(figure)
    check_table(table)
    with RunProgress(cell.name) as watch:
        explanation = explain_cell(cell, request=request, slowest=slowest, watch=watch)
    if request is None and slowest is None:
        _show_parts(explanation, figure, table, as_json=as_json)
        return
    write_table(explanation.requests, table)
    if as_json:
        print_json(explanation.record())
    else:
        _show_timelines(explanation)


def _show_parts(explanation: Explanation, figure: Path | None, file: Path | None, *, as_json: bool) -> None:
    from aqmlab.explanations import by_band, plot, table
    from aqmlab.ui import canvas, console

    bands = by_band(explanation.requests)
    if figure is not None:
        with one_line_errors():
            canvas.write(figure, lambda figure: plot.bands(figure, bands, title=explanation.title))
        report_written(figure)
    write_table(bands, file)
    if as_json:
        print_json({"cell": str(explanation.directory), "bands": bands.to_dicts()})
    else:
        print(explanation.title)
        console.show(table.bands(bands.to_dicts()))


def _show_timelines(explanation: Explanation) -> None:
    from aqmlab.explanations import table, timeline
    from aqmlab.ui import console

    rows = explanation.requests.to_dicts()
    print(explanation.title)
    console.show(table.requests(rows))
    for row in rows:
        events = explanation.timeline(row["request"]).to_dicts()
        print(f"Request {row['request']:,}")
        console.show(table.timeline(timeline.lines(events, row["request_bytes"], row["response_bytes"])))
