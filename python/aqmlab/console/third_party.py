"""Third-party libraries in pages, as published: name, version, licence, and the checksum of each file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_CONSOLE = Path(__file__).parent / "static" / "vendored"
_REPORT = Path(__file__).parents[1] / "reports" / "vendored"


@dataclass(frozen=True)
class Library:
    """A third-party library."""

    name: str
    version: str
    licence: str
    text: Path
    """The file with the text of the licence; the library's files are in the same directory."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by file; empty for a library that is part of another one's files."""


LIBRARIES = (
    Library(
        name="htmx.org",
        version="2.0.11",
        licence="0BSD",
        text=_CONSOLE / "htmx.LICENSE",
        files={"htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"},
    ),
    Library(
        name="uplot",
        version="1.6.32",
        licence="MIT",
        text=_CONSOLE / "uPlot.LICENSE",
        files={
            "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
            "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        },
    ),
    Library(
        name="vega",
        version="6.2.0",
        licence="BSD-3-Clause",
        text=_REPORT / "vega.LICENSE",
        files={"vega.min.js": "ea6a5936381d06f912466354e2b6a20eb66c4d41f1ca9dff1e0236dfee6ee392"},
    ),
    Library(
        name="vega-lite",
        version="6.4.3",
        licence="BSD-3-Clause",
        text=_REPORT / "vega-lite.LICENSE",
        files={"vega-lite.min.js": "35a9821df838825b05a6a73e9414b58747a1b18321583858ed903c66393a5c7e"},
    ),
    Library(
        name="vega-embed",
        version="7.0.2",
        licence="BSD-3-Clause",
        text=_REPORT / "vega-embed.LICENSE",
        files={"vega-embed.min.js": "c7111a41190080938b14c1de00074d9bda16ef2199e2919dd038cddf97d87354"},
    ),
    Library(name="d3", version="7", licence="ISC", text=_REPORT / "d3.LICENSE"),
    Library(name="topojson-client", version="3", licence="ISC", text=_REPORT / "topojson-client.LICENSE"),
    Library(name="fast-json-patch", version="3", licence="MIT", text=_REPORT / "fast-json-patch.LICENSE"),
    Library(
        name="json-stringify-pretty-compact",
        version="4",
        licence="MIT",
        text=_REPORT / "json-stringify-pretty-compact.LICENSE",
    ),
    Library(name="semver", version="7", licence="ISC", text=_REPORT / "semver.LICENSE"),
)


def integrity(file: str) -> str:
    """Return the ``integrity`` attribute of a file, with which a browser checks it."""
    (sha256,) = (library.files[file] for library in LIBRARIES if file in library.files)
    return "sha256-" + base64.b64encode(bytes.fromhex(sha256)).decode()
