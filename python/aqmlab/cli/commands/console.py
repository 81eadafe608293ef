"""``aqmlab console``: a page on a results directory, for a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Directory

app = App()


@app.command()
def console(
    out: Directory = "results",
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="N", help="0 takes one that is free.")] = 0,
) -> None:
    """Show results in a browser on this machine.

    Cells are set side by side there, and comparisons started. The address that
    is printed is good for one browser. Ctrl-C ends it, and what it has running.

    Example: aqmlab console results
    """
    import socket

    import uvicorn

    from aqmlab.console.app import Console
    from aqmlab.running.files.location import location

    where = location(out)
    if not isinstance(where, Path) or (where.exists() and not where.is_dir()):
        raise SpecError(f"DIR: must be a results directory on this machine, got {out}")
    listener = socket.socket()
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
        except OSError as error:
            raise SpecError(f"--port: {port} cannot be had ({error.strerror})") from None
        pages = Console(where, host=f"127.0.0.1:{listener.getsockname()[1]}")
        print(f"Open {pages.guard.address}", flush=True)
        settings = uvicorn.Config(pages.guard, log_level="warning", ws="none", timeout_graceful_shutdown=2)
        uvicorn.Server(settings).run(sockets=[listener])
