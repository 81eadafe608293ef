"""``aqmlab explain``: response times of a cell's requests, or load times of its pages, by cause."""

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

MAX_INCIDENTS = 40
"""The largest number of incidents of a page that are printed."""


@app.command()
def explain(
    cell: Annotated[Path, typer.Argument(metavar="CELL", help="The directory of a cell, below results/cells.")],
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Explain the requests of this source. The default is the web users, or without any all sources.",
        ),
    ] = None,
    request: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Show the timeline of this request: its row in the table exchanges without those of other owners, from"
            " 0, in the order of completion in the measurement window.",
        ),
    ] = None,
    page: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Show the path of resources and the incidents of this page, from 0, in the order in which pages end in"
            " the measurement window; with --figure all its resources over time.",
        ),
    ] = None,
    slowest: Annotated[
        int | None, typer.Option(metavar="K", help="Show the same of the K slowest requests or pages.")
    ] = None,
    figure: Figure = None,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Explain the times of a cell's requests or pages by cause.

    The cell is run again. Where users load pages of today, pages are explained. --table writes the parts of the times;
    with --request, --page or --slowest of each request or page.

    Example: aqmlab explain results/cells/0123456789abcdef --slowest 3
    """
    from aqmlab.explanations import explain as explain_cell
    from aqmlab.running.progress import RunProgress

    if sum(option is not None for option in (request, page, slowest)) > 1:
        raise SpecError("explain: write one of --request, --page and --slowest")
    if figure is not None and (request is not None or slowest is not None):
        raise SpecError("explain: --figure is of all requests or pages, or of one page: leave out the other option")
    check_figure(figure)
    check_table(table)
    with RunProgress(cell.name) as watch:
        explanation = explain_cell(cell, source=source, request=request, page=page, slowest=slowest, watch=watch)
    if request is None and page is None and slowest is None:
        _show_parts(explanation, figure, table, as_json=as_json)
        return
    if page is not None and figure is not None:
        _draw_page(explanation, page, figure)
    write_table(explanation.waits, table)
    if as_json:
        print_json(explanation.record())
    else:
        _show_timelines(explanation)


def _show_parts(explanation: Explanation, figure: Path | None, file: Path | None, *, as_json: bool) -> None:
    from aqmlab.explanations import by_band, plot, table
    from aqmlab.ui import canvas, console

    bands = by_band(explanation.waits)
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
    from aqmlab.explanations import PAGES, table, timeline
    from aqmlab.ui import console

    rows = explanation.waits.to_dicts()
    print(explanation.title)
    if explanation.wait == PAGES:
        console.show(table.pages(rows))
        for row in rows:
            _show_page(explanation, row["page"])
        return
    console.show(table.requests(rows))
    for row in rows:
        events = explanation.timeline(row["request"]).to_dicts()
        source = f", source {row['source']}" if row["source"] else ""
        print(f"Request {row['request']:,}{source}")
        console.show(table.timeline(timeline.lines(events, row["request_bytes"], row["response_bytes"])))


def _show_page(explanation: Explanation, page: int) -> None:
    """Show the path of a page, and what happened on the connections of the path while its resources came."""
    import polars as pl

    from aqmlab.explanations import table, timeline
    from aqmlab.ui import console

    path = explanation.resources_of(page).filter("on_path").sort("known_ns")
    print(f"Page {page:,}: the resources whose times add up to its load time")
    console.show(table.path(path.to_dicts()))
    events = (
        explanation.timeline(page)
        .with_row_index("order")
        .join(path.select("connection", "known_ns", "complete_ns"), on="connection")
        .filter(pl.col("time_ns").is_between("known_ns", "complete_ns"))
        .unique("order")
        .sort("order")
    )
    incidents = timeline.incidents(events.to_dicts())
    if incidents:
        print(f"Page {page:,}: incidents on their connections while they were fetched")
        console.show(table.timeline(incidents[:MAX_INCIDENTS], connections=True))
    if len(incidents) > MAX_INCIDENTS:
        print(f"{len(incidents) - MAX_INCIDENTS:,} further incidents are in the timeline of --json\n")


def _draw_page(explanation: Explanation, page: int, figure: Path) -> None:
    from aqmlab.explanations import plot, timeline
    from aqmlab.ui import canvas

    resources = explanation.resources_of(page)
    incidents = timeline.incidents(explanation.timeline(page).to_dicts())
    title = f"{explanation.title}: page {page:,}"
    with one_line_errors():
        canvas.write(figure, lambda figure: plot.waterfall(figure, resources, incidents, title=title))
    report_written(figure)
