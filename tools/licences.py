"""Write the licences of what is in the wheel beside aqmlab itself to one file: `python tools/licences.py FILE`.

`console/third_party.py` lists the libraries of pages, `cargo metadata` what is compiled in. Each crate's own licence
files are beside its source, where cargo keeps it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aqmlab.console import third_party

ROOT = Path(__file__).parents[1]
BINARIES = ("aqmlab-py", "aqmlab-live")
PLATFORM = "x86_64-unknown-linux-gnu"
NAMES = ("LICEN[SC]E*", "COPYING*", "NOTICE*", "COPYRIGHT*")


def bundled(metadata: dict[str, Any], binaries: Iterable[str] = BINARIES) -> list[dict[str, Any]]:
    """Return the packages that are linked into the binaries, ours left out, by name and version."""
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    reached: set[str] = set()
    waiting = [id_ for id_, package in packages.items() if package["name"] in binaries]
    while waiting:
        id_ = waiting.pop()
        # A macro's crate works while others are compiled, and is in no binary.
        if id_ in reached or any("proc-macro" in target["kind"] for target in packages[id_]["targets"]):
            continue
        reached.add(id_)
        linked = (need for need in needs[id_] if any(kind["kind"] is None for kind in need["dep_kinds"]))
        waiting += (need["pkg"] for need in linked)
    others = (packages[id_] for id_ in reached if packages[id_]["source"] is not None)
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> Iterator[str]:
    """Yield the licence texts that a package ships."""
    folder = Path(package["manifest_path"]).parent
    for file in sorted({file for name in NAMES for file in folder.glob(name) if file.is_file()}):
        yield file.read_text(encoding="utf-8", errors="replace").strip()


def text(binaries: Iterable[str], libraries: Iterable[third_party.Library]) -> str:
    """Return the licences of what is linked into binaries, and of the libraries of pages."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    lines = ["What is in this package beside aqmlab itself, what it is under, and the texts that say so.\n"]
    holders: dict[str, list[str]] = {}
    for package in bundled(metadata, binaries):
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license']}; {', '.join(package['authors']) or 'its contributors'}")
        for licence in texts(package):
            holders.setdefault(licence, []).append(name)
    for library in libraries:
        name = f"{library.name} {library.version}"
        lines.append(f"{name}: {library.licence}; its contributors")
        holders.setdefault(library.text.read_text(encoding="utf-8").strip(), []).append(name)
    for licence, names in holders.items():
        lines.append(f"\n{'=' * 72}\n{', '.join(names)}\n{'=' * 72}\n\n{licence}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(BINARIES, third_party.LIBRARIES), encoding="utf-8")
