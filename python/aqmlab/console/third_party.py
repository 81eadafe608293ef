"""Third-party libraries in pages, as published: name, version, licence, and the checksum of each file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aqmlab import data_file


@dataclass(frozen=True)
class Library:
    """A third-party library."""

    name: str
    version: str
    licence: str
    pages: Literal["console", "reports"]
    """The package whose pages contain it."""
    licence_file: str
    """The file with the text of the licence; the library's files are in the same directory."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by file; empty for a library that is part of another one's files."""

    @property
    def text(self) -> Path:
        """The path of the text of the licence."""
        directory = {"console": "console/static/vendored", "reports": "reports/vendored"}[self.pages]
        return Path(__file__).parents[1] / directory / self.licence_file


LIBRARIES = data_file.read(Path(__file__).with_name("third-party.toml"), dict[str, tuple[Library, ...]])["library"]


def integrity(file: str) -> str:
    """Return the ``integrity`` attribute of a file, with which a browser checks it."""
    (sha256,) = (library.files[file] for library in LIBRARIES if file in library.files)
    return "sha256-" + base64.b64encode(bytes.fromhex(sha256)).decode()
