"""The web server of the console, which runs on this machine until an interrupt."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import TextIO

import uvicorn

from aqmlab._core import SpecError
from aqmlab.console.app import Console
from aqmlab.console.forms.job_requests import JobRequest
from aqmlab.disciplines.custom import loader
from aqmlab.storage import marker
from aqmlab.storage.location import location
from aqmlab.store.store import Store


def serve(out: str, *, port: int = 0) -> None:
    """Serve the console of a results directory, and print its address.

    Raises
    ------
    SpecError
        When the port is not available, or ``out`` is not a results directory.
    KeyboardInterrupt
        When it is interrupted, which is the only way to end.
    """
    _serve(out, port, None, sys.stdout)


def watch(request: JobRequest, out: str) -> int:
    """Run a command in this terminal with a console, whose address is on standard error; return the exit code.

    It returns after an interrupt, which also interrupts a running command.
    """
    pages = _serve(out, 0, request, sys.stderr)
    assert pages.watched_job is not None
    assert pages.watched_job.exit_code is not None
    return pages.watched_job.exit_code


def _serve(out: str, port: int, request: JobRequest | None, stream: TextIO) -> Console:
    directory = location(out)
    if not isinstance(directory, Path):
        raise SpecError(f"DIR: must be a results directory on this machine, got {out}")
    if request is None:
        Store(directory).check_is_store("DIR")
    else:
        # The console needs the store before the first cell exists.
        marker.claim(directory)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
        except OSError as error:
            raise SpecError(f"--port: {port} cannot be had ({error.strerror})") from None
        pages = Console(directory, f"127.0.0.1:{listener.getsockname()[1]}", request)
        print(f"Open {pages.guard.address}", file=stream, flush=True)
        settings = uvicorn.Config(pages.guard, log_level="warning", ws="none", timeout_graceful_shutdown=2)
        try:
            # No form runs code: only a typed command may import custom laws.
            with loader.end_imports():
                _Server(settings, pages).run(sockets=[listener])
        except KeyboardInterrupt:
            if pages.watched_job is None:
                raise
        return pages


class _Server(uvicorn.Server):
    """A server that stops jobs before it waits for pending requests."""

    def __init__(self, config: uvicorn.Config, pages: Console) -> None:
        super().__init__(config)
        self._pages = pages

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop all jobs, then answer the pending requests."""
        await self._pages.close()
        await super().shutdown(sockets)
