"""``aqmlab-live``, the program that runs an experiment over the kernel's TCP: told a spec, it tells tables.

It is a process of its own because this one has threads, and because all that it makes is to end with it.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa

from aqmlab import _core
from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.live.errors import LiveError
from aqmlab.running.monitoring import _merged, is_monitored

PROGRAM = Path(_core.__file__).with_name("aqmlab-live")


PATIENCE_S = 60.0
"""How long it may say nothing. It says something each second, and waits no longer than 10 s for a server: ours."""

STDOUT = 1
STDERR = 2


class LiveRun:
    """A context, and a run inside it; it is killed where the context ends before it.

    Parameters
    ----------
    cell
        What is run.
    device
        What joins the hosts to the router, ``"tun"`` or ``"veth"``; by default what the machine allows.
    capture
        From when and until when, in seconds, packets are captured, and how many.
    output
        The number of the open file that the cell's programs write to.

    Raises
    ------
    SpecError
        When the spec asks for what live does not have.
    LiveError
        When the machine refuses something, or the run is killed.
    """

    def __init__(
        self,
        cell: Cell,
        device: str | None = None,
        *,
        capture: tuple[float, float, int] | None = None,
        output: int = STDOUT,
    ) -> None:
        self._request: dict[str, Any] = {"spec": cell.resolved, "seed": cell.seed, "device": device}
        if is_monitored():
            self._request["watched"] = True
        if capture is not None:
            from_s, until_s, packets = capture
            until = None if math.isinf(until_s) else until_s
            self._request["capture"] = {"from_s": from_s, "until_s": until, "packets": packets}
        self._programs = cell.programs
        self._output = output
        self._said = bytearray()
        self._captured = b""
        self._tables: dict[str, list[pa.RecordBatch]] = {}
        self._newest = dict.fromkeys(("response_times", "glance"), pa.RecordBatch.from_pydict({}))
        self._last: dict[str, Any] = {}
        self.end = cell.end_s
        self.now = 0.0

    def __enter__(self) -> Self:
        # Its own standard output tells tables, and that of programs goes elsewhere.
        files = []
        if self._programs is not None:
            command, server = self._programs
            files = [os.dup(self._output)]
            self._request["programs"] = {"command": command, "server": server, "output": files[0]}
        try:
            # A group of its own: an interrupt is ours to hear and not the run's.
            self._process = subprocess.Popen(
                [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0, pass_fds=files
            )
        except OSError as error:
            raise LiveError(f"{PROGRAM}: cannot be started: {error.strerror}") from None
        finally:
            for file in files:
                os.close(file)
        try:
            assert self._process.stdin
            with self._process.stdin as stdin:
                stdin.write(json.dumps(self._request).encode())
        except BrokenPipeError:
            pass  # It says why, or how it ended.
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._out.close()
        self._process.wait()

    @property
    def process(self) -> int:
        """The number of its process."""
        return self._process.pid

    def advance(self, seconds: float) -> None:
        """Wait until the run has gone on for so long, or to its end if that is nearer."""
        until = min(self.now + seconds, self.end)
        while self.now < min(until, self.end):
            line = self._line()
            if "now_s" in line:
                self.now, self.end = float(line["now_s"]), float(line["end_s"])
        if self.now >= self.end and not self._last:
            self._last = self._line()

    def take(self, table: str) -> pa.RecordBatch:
        """Return the rows of a table that are new: where nobody watches they are there when the run has ended."""
        return _merged(self._tables.pop(table, []))

    def take_capture(self) -> bytes:
        """Return the bytes of the capture since this was last asked: all of them at the end."""
        captured, self._captured = self._captured, b""
        return captured

    def response_times(self) -> pa.RecordBatch:
        """Return the histogram of response times."""
        return self._newest["response_times"]

    def gauges(self) -> pa.RecordBatch:
        """Return what could be read off the links lately, where somebody watches."""
        return self._newest["glance"]

    def summary(self) -> str:
        """Return the run in one row, as JSON."""
        return json.dumps(self._last["summary"])

    def about(self) -> dict[str, Any]:
        """Say how it ran: kernel, device, settings of TCP, and what was measured of it."""
        about: dict[str, Any] = self._last["live"]
        return about

    @property
    def _out(self) -> IO[bytes]:
        assert self._process.stdout
        return self._process.stdout

    def _line(self) -> dict[str, Any]:
        while (end := self._said.find(b"\n")) < 0:
            self._said += self._more()
        text = self._read(end + 1)
        line: dict[str, Any] = json.loads(text)
        if "refused" in line:
            raise SpecError(line["refused"])
        if "failed" in line:
            raise LiveError(f"live: {line['failed']}")
        if "capture" in line:
            self._captured += self._read(line["capture"])
            return self._line()
        if "table" in line:
            self._keep(line["table"], _table(line["columns"], self._read(line["bytes"])))
            return self._line()
        return line

    def _keep(self, table: str, rows: pa.RecordBatch) -> None:
        if table in self._newest:
            self._newest[table] = rows  # All so far, every time.
        else:
            self._tables.setdefault(table, []).append(rows)

    def _read(self, size: int) -> bytes:
        while len(self._said) < size:
            self._said += self._more()
        content = bytes(self._said[:size])
        del self._said[:size]
        return content

    def _more(self) -> bytes:
        """Wait for what it says next."""
        told = select.poll()
        told.register(self._out, select.POLLIN)
        if not told.poll(PATIENCE_S * 1000):
            raise LiveError(f"live: {PROGRAM.name} has said nothing for {PATIENCE_S:g} s")
        content = os.read(self._out.fileno(), 1 << 16)
        if not content:
            raise self._ended()
        return content

    def _ended(self) -> LiveError:
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return LiveError(f"live: {PROGRAM.name} says no more, and has not ended after {PATIENCE_S:g} s")
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return LiveError(f"live: {PROGRAM.name} ended before the run did ({how})")


def _table(columns: list[tuple[str, str]], content: bytes) -> pa.RecordBatch:
    """Read values that lie column by column."""
    kinds = [np.dtype(kind.removesuffix("?")) for _, kind in columns]
    rows = len(content) // sum(kind.itemsize for kind in kinds)
    arrays, at = {}, 0
    for (name, said), kind in zip(columns, kinds, strict=True):
        # Where it may be that there is no value, that is what NaN says.
        arrays[name] = pa.array(np.frombuffer(content, kind, rows, at), from_pandas=said.endswith("?"))
        at += rows * kind.itemsize
    return pa.RecordBatch.from_pydict(arrays)
