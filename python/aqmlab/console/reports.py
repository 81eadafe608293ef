"""Reports for the console, one at a time, each made in a process of its own.

What packs a report's libraries holds Python's lock for seconds: from a thread it would stop the console.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aqmlab.console.guard import Refused
from aqmlab.console.jobs import command


class Reports:
    """Makes them."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def make(self, out: Path, keys: Sequence[str]) -> bytes:
        """Return the report of cells of a store, as ``aqmlab report`` writes it.

        Raises
        ------
        Refused
            When there is nothing to report of them, in the line that the command says.
        """
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
                if process.returncode:
                    raise Refused(400, said.decode(errors="replace").strip().removeprefix("aqmlab: "))
                return file.read_bytes()
