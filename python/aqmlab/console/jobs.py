"""What the console has running: one command of ours at a time, in a process of its own, whose lines are kept."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from functools import partial

from aqmlab.console.asked import Asked
from aqmlab.console.guard import Refused

_MOST_LINES = 10_000
_MOST_JOBS = 50
_PATIENCE_S = 10.0
_BETWEEN_S = 2.0
"""Between two interrupts."""


async def command(words: Sequence[str], *, stderr: int) -> asyncio.subprocess.Process:
    """Start ``aqmlab`` with these words."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "aqmlab",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )


class Job:
    """A command that was started."""

    def __init__(self, number: int, asked: Asked, process: asyncio.subprocess.Process) -> None:
        self.number = number
        self.asked = asked
        self.lines: list[str] = []
        self.exit_code: int | None = None
        """How it ended; None while it runs."""
        self._process = process
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())
        self._stopper: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Interrupt it: what it has run is kept."""
        if self._stopper is None:
            self._stopper = asyncio.create_task(self._interrupt())

    async def _interrupt(self) -> None:
        # Python drops an interrupt that comes while it calls back from its innards, as while it imports.
        while self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
            await asyncio.sleep(_BETWEEN_S)

    async def end(self) -> None:
        """Stop it, and wait until it is gone; after a while by force."""
        self.stop()
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), _PATIENCE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._reader

    async def news(self) -> AsyncIterator[str]:
        """Yield its lines, from the first to its last, as they come."""
        heard = 0
        while True:
            async with self._news:
                await self._news.wait_for(partial(self._has_more_than, heard))
                new = self.lines[heard:]
            if not new:
                return
            for line in new:
                yield line
            heard += len(new)

    def _has_more_than(self, lines: int) -> bool:
        return len(self.lines) > lines or self.exit_code is not None

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._news:
                if len(self.lines) < _MOST_LINES:
                    self.lines.append(line.decode(errors="replace").rstrip())
                self._news.notify_all()
        code = await self._process.wait()
        async with self._news:
            self.exit_code = code
            self._news.notify_all()


class Jobs:
    """All of them, the newest last."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._number = 0

    def all(self) -> list[Job]:
        """Return those that are remembered."""
        return list(self._jobs.values())

    @property
    def running(self) -> Job | None:
        """The one that runs."""
        return next((job for job in self._jobs.values() if job.exit_code is None), None)

    def get(self, number: int) -> Job:
        """Return one.

        Raises
        ------
        Refused
            When there is none of this number.
        """
        if number not in self._jobs:
            raise Refused(404, f"there is no run {number}")
        return self._jobs[number]

    async def start(self, asked: Asked) -> Job:
        """Start what is asked for.

        Raises
        ------
        Refused
            When another one is running.
        """
        if (running := self.running) is not None:
            raise Refused(409, f"run {running.number} is not done: stop it first")
        process = await command(asked.words, stderr=asyncio.subprocess.STDOUT)
        self._number += 1
        job = self._jobs[self._number] = Job(self._number, asked, process)
        while len(self._jobs) > _MOST_JOBS:
            del self._jobs[next(iter(self._jobs))]
        return job

    async def end(self) -> None:
        """Stop what runs."""
        if (running := self.running) is not None:
            await running.end()
