"""A fixed page: the same resources as a workload of the simulator and as files that a server has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KILOBYTE = 1024

_SHIPPED = Path(__file__).parents[2] / "crates" / "workload" / "data" / "web2024.json"

_SUFFIXES = {"css": "css", "script": "js", "font": "woff2", "image": "png"}


@dataclass(frozen=True)
class Kind:
    """The resources of one kind: their number, and the size of each in kilobytes of 1,024 bytes."""

    number: int
    kilobytes: int


@dataclass(frozen=True)
class Page:
    """A document and its resources.

    No two kinds have the same size, so that a size tells the kind.
    """

    kinds: dict[str, Kind]
    http3: bool = False
    other_origin: bool = False
    """True if all resources but the document are those of a second origin."""
    early_links: bool = False
    """True if the document refers to its resources at its beginning, which only a program can notice."""

    def resources(self) -> Iterator[tuple[str, str, int]]:
        """Yield file name, kind and size in bytes of each resource, the document first."""
        yield "index.html", "html", self.kinds["html"].kilobytes * KILOBYTE
        for kind, suffix in _SUFFIXES.items():
            if kind in self.kinds:
                about = self.kinds[kind]
                for number in range(about.number):
                    yield f"{kind}{number}.{suffix}", kind, about.kilobytes * KILOBYTE

    def bytes(self) -> int:
        """Return the sum of all sizes."""
        return sum(size for _, _, size in self.resources())

    def references(self, port: int, other_port: int) -> list[tuple[str, int, str]]:
        """Return of each resource its name, the port of its origin, and the name of the resource that refers to it."""
        resources = list(self.resources())
        document = resources[0][0]
        parents = {"font": next((name for name, kind, _ in resources if kind == "css"), document)}
        elsewhere = other_port if self.other_origin else port
        return [
            (name, port if name == document else elsewhere, parents.get(kind, document)) for name, kind, _ in resources
        ]

    def kind_of_size(self, size: int) -> str:
        """Return the kind of the resources with this size in bytes."""
        (kind,) = {kind for _, kind, bytes_ in self.resources() if bytes_ == size}
        return kind

    def workload(self, think_s: float) -> dict[str, Any]:
        """Return the page as a table of the users' workload, each distribution of which has one value."""
        tables: dict[str, Any] = json.loads(_SHIPPED.read_text(encoding="utf-8"))
        no_resource = Kind(0, 1)
        kinds = {kind: _table(self.kinds.get(kind, no_resource)) for kind in tables["resources"]}
        for share in ("scripts_by_scripts", "images_by_css", "images_by_scripts", "resumed_connections"):
            tables[share]["share"] = 0.0
        for share in ("http1_own_origin", "http1_other_origins"):
            tables[share]["share"] = 0.0
        tables["blocking_scripts"]["share"] = 1.0
        tables["other_origins"]["share"] = float(self.other_origin)
        tables["http3"]["origins"]["share"] = float(self.http3)
        tables["think_seconds"]["mean"] = think_s
        return {
            **tables,
            "name": "judges-page",
            "version": "1",
            "notes": ["A fixed page."],
            "resources": kinds,
            "origins_per_page": _constant(1.5 if self.other_origin else 0.5),
        }

    def write_site(self, directory: Path) -> None:
        """Write the files of a server.

        The document refers to its resources at its end, so that a program that parses what has come knows them when all
        of it is there, as the model does.
        """
        directory.mkdir(parents=True)
        names: dict[str, list[str]] = {}
        for name, kind, size in self.resources():
            names.setdefault(kind, []).append(name)
            if kind != "html":
                (directory / name).write_bytes(bytes(size))
        head = "".join(f'<link rel="stylesheet" href="/{name}">' for name in names["css"])
        head += "".join(f'<script src="/{name}"></script>' for name in names["script"])
        body = "".join(f'<img src="/{name}">' for name in names["image"])
        size = self.kinds["html"].kilobytes * KILOBYTE
        parts = ("<html><head>", f"{head}</head><body>{body}", "</body></html>")
        filler = f"<!--{'x' * (size - sum(map(len, parts)) - len('<!---->'))}-->"
        place = 2 if self.early_links else 1
        (directory / "index.html").write_text("".join((*parts[:place], filler, *parts[place:])), encoding="ascii")


def write_certificate(directory: Path, names: int) -> None:
    """Write ``key.pem`` and ``cert.pem``, a certificate with some number of host names that make it long."""
    listed = ",".join(f"DNS:host{number:03}.judges.example" for number in range(names))
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", str(directory / "key.pem"))
    subject = ("-subj", "/CN=judges.example", "-addext", f"subjectAltName={listed}")
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "3650", *key, *subject, "-out", str(directory / "cert.pem")],
        check=True,
        capture_output=True,
    )


def _table(kind: Kind) -> dict[str, Any]:
    # Numbers are rounded down.
    return {"per_page": _constant(kind.number + 0.5), "kilobytes": {"per_resource": _constant(kind.kilobytes)}}


def _constant(value: float) -> dict[str, Any]:
    return {"source": "a fixed page", "nodes": [[0, value], [0.5, value]]}
