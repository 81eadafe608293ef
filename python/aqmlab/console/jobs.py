"""The jobs of the console: one command at a time, in its own process, with its recorded output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from aqmlab.console.auth import Rejected
from aqmlab.console.forms.job_requests import JobRequest
from aqmlab.running import monitoring

_MAX_EVENTS = 10_000
"""The largest number of recorded events of a job; the newest are kept."""
_MAX_JOBS = 50
_MAX_LINE_BYTES = 1_000_000
_PATIENCE_S = 10.0
_POLL_S = 2.0
"""The time between two interrupts, and the time for a process to react to an interrupt from its terminal."""

Event = tuple[str, Any]
"""An event: its kind, ``line`` or ``reading``, and its content."""


async def command(argv: Sequence[str], **files: Any) -> Process:
    """Start ``aqmlab`` with these arguments and open files."""
    # Without -P the current directory would be first on the path, and a file aqmlab.py or polars.py there be imported.
    program = (sys.executable, "-P", "-m", "aqmlab")
    return await asyncio.create_subprocess_exec(
        *program, *argv, limit=_MAX_LINE_BYTES, **{"stdin": DEVNULL, "stdout": PIPE, **files}
    )


class Job:
    """A command that has been started."""

    def __init__(self, number: int, request: JobRequest, process: Process, readings: asyncio.StreamReader) -> None:
        self.number = number
        self.request = request
        self.latest_readings: dict[str, Mapping[str, Any]] = {}
        """The newest reading of each started cell, by key."""
        self.exit_code: int | None = None
        """The exit code in a shell's form: 130 after an interrupt. ``None`` while the job runs."""
        self._events: deque[Event] = deque(maxlen=_MAX_EVENTS)
        self._number_of_events = 0
        self._process = process
        self._event_added = asyncio.Condition()
        self._reader = asyncio.create_task(self._read(readings))
        self._stopper: asyncio.Task[None] | None = None

    @property
    def in_terminal(self) -> bool:
        """True if its output goes to the console's own terminal."""
        return self._process.stdout is None

    @property
    def status(self) -> str:
        """The result in words; an empty text while the job runs."""
        if self.exit_code is None:
            return ""
        if self.exit_code == 128 + signal.SIGINT:
            return "stopped"
        return f"ended with exit code {self.exit_code}" if self.exit_code else "done"

    @property
    def cells(self) -> list[str]:
        """The keys of the requested cells, and of further cells that it has started."""
        return list(dict.fromkeys([*self.request.cells, *self.latest_readings]))

    def stop(self) -> None:
        """Interrupt the job; completed cells stay in the store."""
        if self._stopper is None:
            self._stopper = asyncio.create_task(self._interrupt())

    async def _interrupt(self) -> None:
        # Repeat it: Python drops an interrupt during some callbacks, for example during an import.
        while self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
            await asyncio.sleep(_POLL_S)

    async def end(self) -> None:
        """Stop the job and wait for its end; after a while kill it."""
        # Ctrl-C in a terminal reaches all its processes: a second interrupt would cut off the last output.
        await asyncio.wait([self._reader], timeout=_POLL_S)
        self.stop()
        try:
            await asyncio.wait_for(self.wait(), _PATIENCE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._reader

    async def wait(self) -> None:
        """Wait until the job has ended."""
        await asyncio.shield(self._reader)

    async def events(self) -> AsyncIterator[Event]:
        """Yield all events, from the first recorded one to the last, as they occur."""
        seen = 0
        while True:
            async with self._event_added:
                await self._event_added.wait_for(partial(self._has_more_than, seen))
                discarded = self._number_of_events - len(self._events)
                new = list(islice(self._events, max(seen - discarded, 0), None))
                seen = self._number_of_events
            if not new:
                return
            for event in new:
                yield event

    def _has_more_than(self, events: int) -> bool:
        return self._number_of_events > events or self.exit_code is not None

    async def _read(self, readings: asyncio.StreamReader) -> None:
        streams = [self._record_events(readings, "reading", json.loads)]
        if self._process.stdout is not None:
            streams.append(
                self._record_events(self._process.stdout, "line", lambda line: line.decode(errors="replace").rstrip())
            )
        await asyncio.gather(*streams)
        code = await self._process.wait()
        async with self._event_added:
            # An interrupt during Python's shutdown ends the process by the signal.
            self.exit_code = code if code >= 0 else 128 - code
            self._event_added.notify_all()

    async def _record_events(self, stream: asyncio.StreamReader, kind: str, read: Callable[[bytes], Any]) -> None:
        async for text in stream:
            data = read(text)
            async with self._event_added:
                if kind == "reading":
                    self.latest_readings[data["cell"]] = data
                self._events.append((kind, data))
                self._number_of_events += 1
                self._event_added.notify_all()


class Jobs:
    """All jobs, the newest last."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._number = 0

    def list_all(self) -> list[Job]:
        """Return all recorded jobs."""
        return list(self._jobs.values())

    @property
    def running(self) -> Job | None:
        """The running job, if any."""
        return next((job for job in self._jobs.values() if job.exit_code is None), None)

    def get(self, number: int) -> Job:
        """Return a job by its number.

        Raises
        ------
        Rejected
            When there is no such job.
        """
        if number not in self._jobs:
            raise Rejected(404, f"there is no run {number}")
        return self._jobs[number]

    async def start(self, request: JobRequest, *, in_terminal: bool = False) -> Job:
        """Start a job; its output goes to the console's own terminal, or is recorded.

        Raises
        ------
        Rejected
            When another job is running.
        """
        if (running := self.running) is not None:
            raise Rejected(409, f"run {running.number} is not done: stop it first")
        files = {"stdin": None, "stdout": None} if in_terminal else {"stderr": STDOUT}
        read_end, write_end = os.pipe()
        readings = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(readings), os.fdopen(read_end, "rb")
        )
        try:
            environment = {**os.environ, monitoring.PIPE: str(write_end)}
            process = await command(request.argv, **files, pass_fds=[write_end], env=environment)
        finally:
            os.close(write_end)
        self._number += 1
        job = self._jobs[self._number] = Job(self._number, request, process, readings)
        while len(self._jobs) > _MAX_JOBS:
            del self._jobs[next(iter(self._jobs))]
        return job

    async def end(self) -> None:
        """Stop the running job."""
        if (running := self.running) is not None:
            await running.end()
