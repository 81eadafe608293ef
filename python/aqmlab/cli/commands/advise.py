"""``aqmlab advise``: advice on the discipline for an access link."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import Json, Out, Seeds, Workers, read_seeds
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def advise(
    down: Annotated[str, typer.Option(metavar="RATE", help="The rate towards the users: '500 Mbit/s'.")],
    up: Annotated[str, typer.Option(metavar="RATE", help="The rate away from them: '20 Mbit/s'.")],
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Round-trip times without queueing: '20 ms', '10..80 ms'.")],
    users: Annotated[int, typer.Option(metavar="N", help="Web users on the side of the home.")] = 4,
    downloads: Annotated[int, typer.Option(metavar="N", help="Endless downloads.")] = 1,
    uploads: Annotated[int, typer.Option(metavar="N", help="Endless uploads.")] = 1,
    games: Annotated[int, typer.Option(metavar="N", help="People who play: datagrams, 'game up' and 'game down'.")] = 0,
    ecn: Annotated[bool, typer.Option("--ecn", help="All hosts negotiate ECN.")] = False,
    minimise: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="A time to minimise: mean, p50, p90, p95, p99 of response times, delay, delay p99. For one of a source"
            " or direction, such as 'game up one-way p99', aqmlab runs all candidates on the link, not the map's best.",
        ),
    ] = "p95",
    seeds: Seeds = "5",
    workers: Workers = None,
    table: TableFile = None,
    out: Out = "results",
    as_json: Json = False,
) -> None:
    """Advise a discipline and its settings for an access link.

    A shipped map ranks disciplines on similar links. The best three and a plain queue are run on your link. The output
    has both rankings, the effect on long transfers, and commands of Linux's tc.

    Example: aqmlab advise --down "500 Mbit/s" --up "20 Mbit/s" --rtt "10..80 ms" --users 4
    """
    from aqmlab.advice.access_link import AccessLink
    from aqmlab.advice.advice import advise as ask
    from aqmlab.ui import console

    check_table(table)
    link = AccessLink(
        down=down, up=up, rtt=rtt, users=users, downloads=downloads, uploads=uploads, games=games, ecn=ecn
    )
    advice = ask(link, minimise=minimise, seeds=read_seeds(seeds), out=out, workers=workers)
    write_table(advice.frame(), table)
    if as_json:
        print_json(advice.record())
    else:
        print(advice.summary_text)
        for sheet in advice.tables:
            console.show(sheet)
        print(advice.commands, *advice.notes, sep="\n")
