from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from aqmlab.storage.memoize import memoize


def test_threads_that_ask_at_once_are_given_the_same() -> None:
    ready, calls = threading.Barrier(8), []

    @memoize
    def make(name: str) -> object:
        calls.append(name)
        # Long enough for all others to come while it is being made.
        threading.Event().wait(0.05)
        return object()

    def ask(name: str) -> object:
        ready.wait()
        return make(name)

    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(ask, ["a", "b"] * 4))
    assert sorted(calls) == ["a", "b"]
    assert len(set(map(id, given))) == 2
