"""``aqmlab advise``: advice on the discipline for an access link."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Json, Out, Seeds, Workers, read_seeds
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def advise(
    rtt: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Round-trip times without queueing: '20 ms', '10..80 ms'. The delay of --link adds to them.",
        ),
    ],
    down: Annotated[str | None, typer.Option(metavar="RATE", help="The rate towards the users: '500 Mbit/s'.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="The rate away from them: '20 Mbit/s'.")] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="LINK",
            help="The link in place of --down and --up: a preset such as 'docsis-3.1 250/25', or a spec whose table"
            " link describes it, such as home.toml.",
        ),
    ] = None,
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

    Example: aqmlab advise --link "docsis-3.1 250/25" --rtt "20 ms"
    """
    from aqmlab.advice.access_link import AccessLink
    from aqmlab.advice.advice import advise as ask
    from aqmlab.ui import console

    check_table(table)
    access_link = AccessLink(
        down=down,
        up=up,
        link=link if link is None or not link.endswith(".toml") else _link_of(link),
        rtt=rtt,
        users=users,
        downloads=downloads,
        uploads=uploads,
        games=games,
        ecn=ecn,
    )
    advice = ask(access_link, minimise=minimise, seeds=read_seeds(seeds), out=out, workers=workers)
    write_table(advice.frame(), table)
    if as_json:
        print_json(advice.record())
    else:
        print(advice.summary_text)
        for sheet in advice.tables:
            console.show(sheet)
        print(advice.commands, *advice.notes, sep="\n")


def _link_of(file: str) -> dict[str, Any]:
    """Return the table ``link`` of a spec, and print which of its other parts are not used."""
    from aqmlab.spec.experiment import Experiment
    from aqmlab.ui.messages import logger

    written = Experiment.from_toml(file).explicit_values
    link = written.pop("link", None)
    if not isinstance(link, dict):
        raise SpecError(f"{file}: must have one table link")
    unused = [*(f"link.{key}" for key in ("queue", "queue_back") if link.pop(key, None) is not None), *written]
    if unused:
        logger.info(f"{file}: advise uses its link, and not {', '.join(unused)}")
    return link
