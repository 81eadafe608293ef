"""``aqmlab init``: conversion of a directory to a store."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.options import Directory

app = App()


@app.command()
def init(out: Directory = "results") -> None:
    """Make a directory with other files a store of results.

    Commands that write results make a new or empty directory a store by
    themselves. They refuse one with other files, until this command has
    marked it with aqmlab-store.json. No file there is changed.
    """
    from aqmlab.storage import marker
    from aqmlab.store.store import Store

    store = Store(out)
    store.init()
    print(store.out / marker.NAME)
