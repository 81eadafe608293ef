"""Reports for the console, one at a time, each in its own process.

Packing a report's libraries holds Python's global lock for seconds: in a thread it would block the console.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request

from aqmlab.console.auth import Refused
from aqmlab.console.jobs import command


class Reports:
    """The queue of report processes."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._making: set[asyncio.Task[bytes]] = set()

    async def make(self, out: Path, keys: Sequence[str], request: Request) -> bytes:
        """Return the report of ``aqmlab report`` on cells; it is cancelled if the client disconnects.

        Raises
        ------
        Refused
            When the command refuses the cells, the client disconnects, or the console ends.
        """
        making, leaving = asyncio.create_task(self._make(out, keys)), asyncio.create_task(_until_gone(request))
        self._making.add(making)
        try:
            await asyncio.wait([making, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not making.done() or making.cancelled():
                raise Refused(503, "the report was given up")
            return making.result()
        finally:
            self._making.discard(making)
            for task in (making, leaving):
                task.cancel()

    def end(self) -> None:
        """Cancel all reports."""
        for task in self._making:
            task.cancel()

    async def _make(self, out: Path, keys: Sequence[str]) -> bytes:
        async with self._lock:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "report.html")
                words = ["report", *keys, "--out", str(out), "--output", str(file)]
                process = await command(words, stderr=asyncio.subprocess.PIPE)
                try:
                    _, said = await process.communicate()
                finally:
                    if process.returncode is None:
                        process.kill()
                        await process.wait()
                if process.returncode:
                    raise Refused(400, said.decode(errors="replace").strip().removeprefix("aqmlab: "))
                return file.read_bytes()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
