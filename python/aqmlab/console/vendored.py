"""What of others' lies in ``static/vendored``, as they published it: name, version, licence, and each file's hash."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static" / "vendored"


@dataclass(frozen=True)
class Library:
    """A library for pages."""

    name: str
    version: str
    licence: str
    text: str
    """The file with the licence's text."""
    files: Mapping[str, str]
    """SHA-256 by file."""


LIBRARIES = (
    Library(
        name="htmx.org",
        version="2.0.11",
        licence="0BSD",
        text="htmx.LICENSE",
        files={"htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"},
    ),
    Library(
        name="uplot",
        version="1.6.32",
        licence="MIT",
        text="uPlot.LICENSE",
        files={
            "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
            "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        },
    ),
)


def integrity(file: str) -> str:
    """Return what a page says of a file, so that a browser takes no other."""
    (sha256,) = (library.files[file] for library in LIBRARIES if file in library.files)
    return "sha256-" + base64.b64encode(bytes.fromhex(sha256)).decode()
