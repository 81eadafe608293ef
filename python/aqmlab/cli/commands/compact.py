"""``aqmlab compact``: compaction of the index of a results directory."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.options import Directory

app = App()


@app.command()
def compact(out: Directory = "results") -> None:
    """Bring the index of a store up to date, in one file.

    Commands that write cells keep the index, from which cells are listed.
    Use this after a directory was copied without the times of its files.
    """
    from aqmlab.storage.location import location
    from aqmlab.store.store import Store

    Store(out).check_is_store("DIR")
    number = Store(out).compact()
    print(f"{number:,} {'cell' if number == 1 else 'cells'} in {location(out) / 'index'}")
