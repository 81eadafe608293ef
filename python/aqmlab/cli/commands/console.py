"""``aqmlab console``: results in a browser on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import LocalDirectory

app = App()


@app.command()
def console(
    out: LocalDirectory = "results",
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="The TCP port; 0 takes a free one.")] = 0,
) -> None:
    """Show results in a browser on this machine.

    You can compare cells and start runs there. The printed address is valid for
    one browser. Ctrl-C ends the console and its runs.

    Example: aqmlab console results
    """
    from aqmlab.ui.extras import require

    require("console")
    from aqmlab.console.server import serve

    serve(out, port=port)
