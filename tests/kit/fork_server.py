"""Fork server for ``short_runs.py``: each run is a fork of one process that has imported the slow modules.

``python fork_server.py SOCKET`` starts the server.
``python fork_server.py SOCKET ARGUMENT...`` makes it run one command, with the client's arguments, directory,
environment and output, and exits with the command's exit code.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

OUTPUT = (1, 2)
SLOW_MODULES = (
    "aqmlab.cli.main",
    "aqmlab.spec.experiment",
    "jinja2",
    "matplotlib.pyplot",
    "optuna",
    "rich.progress",
    "scipy.stats",
)
"""Modules that commands import late. A fork has no threads, and these modules start none; polars does."""


def request_run(address: str, arguments: list[str]) -> int:
    """Have the server run a command; return its exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [b"!"], OUTPUT)
        server.sendall(json.dumps((arguments, str(Path.cwd()), dict(os.environ))).encode())
        server.shutdown(socket.SHUT_WR)
        return int(server.recv(8))


def serve(address: str) -> None:
    """Run commands, any number at a time, until killed; print a line once it listens."""
    import multiprocessing
    import socketserver
    from importlib import import_module

    def command(output: list[int], arguments: list[str], directory: str, environment: dict[str, str]) -> None:
        for received, own in zip(output, OUTPUT, strict=True):
            os.dup2(received, own)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        import short_runs

        sys.argv = [short_runs.__file__, *arguments]
        short_runs.main()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            _, output, *_ = socket.recv_fds(self.request, 1, len(OUTPUT))
            request = json.load(self.request.makefile())
            process = multiprocessing.get_context("fork").Process(target=command, args=(output, *request))
            process.start()
            process.join()
            self.request.sendall(str(process.exitcode).encode())

    class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
        pass

    for module in SLOW_MODULES:
        import_module(module)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork would lack threads"
    with Server(address, Handler) as server:
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    _, address, *arguments = sys.argv
    if arguments:
        sys.exit(request_run(address, arguments))
    serve(address)
