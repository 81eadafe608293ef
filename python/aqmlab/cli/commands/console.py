"""``aqmlab console``: a page on a results directory, for a browser on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import LocalDirectory

app = App()


@app.command()
def console(
    out: LocalDirectory = "results",
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="0 takes one that is free.")] = 0,
) -> None:
    """Show results in a browser on this machine.

    Cells are set side by side there, and comparisons started. The address that
    is printed is good for one browser. Ctrl-C ends it, and what it has running.

    Example: aqmlab console results
    """
    from aqmlab.ui.extras import require

    require("console")
    from aqmlab.console.server import serve

    serve(out, port=port)
