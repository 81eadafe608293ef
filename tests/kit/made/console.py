"""A results directory for the console, and the console on it as a program of its own."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

import pytest

import aqmlab as lab
from aqmlab.running.cell import cells_of
from aqmlab.running.store import Store
from aqmlab.running.sweep import sweep

HOSTILE = "<script>alert(1)</script>\"'&\u202e"


def store(folder: Path) -> Path:
    """Make two cells of one scheme, two of another, and one whose name is not to be believed."""
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"}, users={"per_side": 100}, protocol={"warmup": "1 s", "duration": "5 s"}
    )
    lab.compare("droptail:limit=20", "codel", experiment=experiment, seeds=[1, 2], baseline=False, out=folder)
    cells = cells_of(experiment.model_copy(update={"queue": lab.QueueSpec.model_validate({"pie": {}})}), [1])
    sweep([replace(cell, label=HOSTILE) for cell in cells], Store(folder))
    return folder


@contextmanager
def console(out: Path, *program_words: str, says: IO[str] | None = None) -> Iterator[str]:
    """Serve a results directory, by a program of your own if that is given; the address that is printed.

    What it says until it has ended goes to the file ``says``.
    """
    words = [*(program_words or (sys.executable, "-m", "aqmlab")), "console", str(out)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=says, text=True) as program:
        assert program.stdout is not None
        try:
            yield program.stdout.readline().removeprefix("Open ").strip()
        finally:
            program.send_signal(signal.SIGINT)
            program.wait(timeout=20)


class Visitor:
    """Somebody with a browser."""

    def __init__(self, address: str) -> None:
        self.host, _, self.enter = address.removeprefix("http://").partition("/")
        self.headers = {"Host": self.host}

    def ask_and_leave(self, path: str) -> None:
        """Ask for a page, and go before it is there."""
        with closing(http.client.HTTPConnection(self.host, timeout=120)) as connection:
            connection.request("GET", path, headers=self.headers)

    def ask(
        self, path: str, method: str = "GET", form: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        named = headers or {}
        body = None if form is None else urlencode(form)
        if method == "POST":
            named = {"Origin": f"http://{self.host}", "Content-Type": "application/x-www-form-urlencoded"} | named
        connection.request(method, path, body, {**self.headers, **named})
        with closing(connection):
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers

    def go_in(self) -> None:
        status, _, headers = self.ask(f"/{self.enter}")
        assert status == 303
        cookie = headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
        self.headers["Cookie"] = cookie.partition(";")[0]

    def csrf(self) -> str:
        _, page, _ = self.ask("/new")
        (token,) = re.findall(r'name="csrf" value="([^"]+)"', page)
        return str(token)


@pytest.fixture(scope="module")
def console_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results directory with cells."""
    return store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def inside(console_store: Path) -> Iterator[Visitor]:
    """A visitor of the console on that directory who has been let in."""
    with console(console_store) as address:
        visitor = Visitor(address)
        visitor.go_in()
        yield visitor
