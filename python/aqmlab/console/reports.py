"""Reports for the console, one at a time, each in its own process.

Packing a report's libraries holds Python's global lock for seconds: in a thread it would block the console.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request

from aqmlab.console.auth import Rejected
from aqmlab.console.jobs import command


class Reports:
    """The queue of report processes."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[bytes]] = set()

    async def make(self, out: Path, keys: Sequence[str], request: Request) -> bytes:
        """Return the report of ``aqmlab report`` on cells; it is cancelled if the client disconnects.

        Raises
        ------
        Rejected
            When the command refuses the cells, the client disconnects, or the console ends.
        """
        report_task, disconnect_task = (
            asyncio.create_task(self._make(out, keys)),
            asyncio.create_task(_wait_for_disconnect(request)),
        )
        self._tasks.add(report_task)
        try:
            await asyncio.wait([report_task, disconnect_task], return_when=asyncio.FIRST_COMPLETED)
            if not report_task.done() or report_task.cancelled():
                raise Rejected(503, "the report was given up")
            return report_task.result()
        finally:
            self._tasks.discard(report_task)
            for task in (report_task, disconnect_task):
                task.cancel()

    def end(self) -> None:
        """Cancel all reports."""
        for task in self._tasks:
            task.cancel()

    async def _make(self, out: Path, keys: Sequence[str]) -> bytes:
        async with self._lock:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "report.html")
                argv = ["report", *keys, "--out", str(out), "--output", str(file)]
                process = await command(argv, stderr=asyncio.subprocess.PIPE)
                try:
                    _, error_output = await process.communicate()
                finally:
                    if process.returncode is None:
                        process.kill()
                        await process.wait()
                if process.returncode:
                    raise Rejected(400, error_output.decode(errors="replace").strip().removeprefix("aqmlab: "))
                return file.read_bytes()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
