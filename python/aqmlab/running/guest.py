"""The process of a run in a Linux kernel in virtual time: the kernel, whose first process is ``aqmlab-live``."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from aqmlab.cells import kernel
from aqmlab.cells.cell import Cell
from aqmlab.running.errors import LiveError
from aqmlab.running.machine.cpus import tree_cpu_s
from aqmlab.running.process import STDOUT, LiveRun

_MEMORY_MB = 1024
"""The memory of the guest, of which it takes what it uses; TCP bounds its own memory by it."""

_START_NS = 1_700_000_000_000_000_000
"""The guest's time of day at its start, in nanoseconds since 1970: ours, the same in all runs."""


class GuestRun(LiveRun):
    """A run in a kernel in virtual time as a context; it is killed if the context ends before it.

    The run has a directory of its own with the request and a link to the guest's program. It is the current directory
    of the kernel, whose command line is then the same for all cells: its random numbers depend on it.
    """

    _world, _hint = "kernel", "; aqmlab doctor says what this machine lacks"

    @property
    def _program(self) -> Path:
        return kernel.PROGRAM

    @property
    def _patience_s(self) -> float:
        # The load of the machine decides how long a virtual second takes.
        return math.inf

    def __init__(self, cell: Cell, *, capture: tuple[float, float, int] | None = None, output: int = STDOUT) -> None:
        super().__init__(cell, capture=capture, output=output)
        del self._request["device"]
        if cell.programs is not None:
            command, server = cell.programs
            place = {"directory": str(Path.cwd()), "path": os.environ.get("PATH", os.defpath)}
            self._request["programs"] = {"command": command, "server": server, "place": place}
        self._held = ExitStack()
        self.cpu_s = 0.0
        """The processor time of the kernel and its guest's processes so far."""

    def advance(self, seconds: float) -> None:
        """Wait until the run has advanced by ``seconds``, or to its end."""
        super().advance(seconds)
        # Its last processes may have ended without being counted.
        self.cpu_s = max(self.cpu_s, tree_cpu_s(self.process))

    def _start(self) -> subprocess.Popen[bytes]:
        return start(self._request, self._held)

    def __exit__(self, *problem: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._held:
            super().__exit__(*problem)


def start(request: Mapping[str, Any], held: ExitStack, *, options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start a kernel with this request on a processor of its own; ``held`` keeps what it needs until it has ended.

    Parameters
    ----------
    request
        The request, whose seed is that of the kernel's random numbers.
    held
        Keeps the directory of the run and the claim of the processor.
    options
        Further options of the kernel.
    """
    cpu, claim = _claim_cpu()
    held.enter_context(claim)
    place = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="aqmlab-")))
    (place / "init").symlink_to(kernel.HOSTS)
    (place / "request.json").write_text(json.dumps(request))
    words = [
        f"mem={_MEMORY_MB}M",
        *("rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=null,fd:2", "quiet", "norandmaps"),
        *("time-travel=inf-cpu", f"time-travel-start={_START_NS}"),
        f"cpu={cpu}",
        f"seed={request['seed']}",
        *kernel.tracing(),
        *options,
        f"aqmlab={kernel.ENGINE},request.json",
        *("init=/proc/self/cwd/init", "--", "guest"),
    ]
    environment = {"HOME": "/", "PATH": os.environ.get("PATH", ""), "TMPDIR": tempfile.gettempdir()}
    try:
        return subprocess.Popen(
            [kernel.PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
            cwd=place,
            env=environment,
        )
    except OSError as error:
        held.close()
        raise LiveError(f"{kernel.PROGRAM}: cannot be started: {error.strerror}") from None


def _claim_cpu() -> tuple[int, socket.socket]:
    """Claim a processor that no other run of this machine has, if there is one, until the socket is closed.

    The kernel's process and the processes of its guest take turns, four times as fast on one processor as between two.
    A socket with an abstract name is a claim that leaves nothing behind, however its process ends.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    cpus = sorted(os.sched_getaffinity(0))
    for cpu in cpus:
        try:
            claim.bind(f"\0aqmlab-cpu-{cpu}")
        except OSError:
            continue
        return cpu, claim
    return random.choice(cpus), claim
