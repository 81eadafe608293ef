"""``brief.py`` as a program that is there at once: each run is a fork of one process that has imported what takes long.

``python at_once.py SOCKET`` is that process. ``python at_once.py SOCKET ARGUMENT...`` has it run one command, with the
arguments, directory, environment and output of its own, and ends as that does.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

OUTPUT = (1, 2)
TAKE_LONG = ("aqmlab.cli.main", "altair", "matplotlib.pyplot", "optuna", "scipy.stats")
"""Modules that commands import late. A fork has no threads, and these modules start none; polars does."""


def ask(address: str, arguments: list[str]) -> int:
    """Have a command run: its exit code."""
    with socket.socket(socket.AF_UNIX) as to:
        to.connect(address)
        socket.send_fds(to, [b"!"], OUTPUT)
        to.sendall(json.dumps((arguments, str(Path.cwd()), dict(os.environ))).encode())
        to.shutdown(socket.SHUT_WR)
        return int(to.recv(8))


def serve(address: str) -> None:
    """Run commands, any number at a time, until killed; a line says that it is there."""
    import multiprocessing
    import socketserver
    from importlib import import_module

    def command(output: list[int], arguments: list[str], directory: str, environment: dict[str, str]) -> None:
        for given, own in zip(output, OUTPUT, strict=True):
            os.dup2(given, own)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        import brief

        sys.argv = [brief.__file__, *arguments]
        brief.main()

    class Ask(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            _, output, *_ = socket.recv_fds(self.request, 1, len(OUTPUT))
            told = json.load(self.request.makefile())
            process = multiprocessing.get_context("fork").Process(target=command, args=(output, *told))
            process.start()
            process.join()
            self.request.sendall(str(process.exitcode).encode())

    class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
        pass

    for module in TAKE_LONG:
        import_module(module)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork would lack threads"
    with Server(address, Ask) as server:
        print("there", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    _, address, *arguments = sys.argv
    if arguments:
        sys.exit(ask(address, arguments))
    serve(address)
