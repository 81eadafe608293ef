"""The pages there are, and what writes each."""

from __future__ import annotations

from pathlib import Path

from reference import api, commands, conformance, disciplines, link_presets, measures, spec, tables

PAGES = {
    "commands.md": commands.commands,
    "spec.md": spec.spec,
    "sources.md": spec.source_kinds,
    "conformance.md": conformance.conformance,
    "link-presets.md": link_presets.link_presets,
    "tables.md": tables.tables,
    "measures.md": measures.measures,
    "api.md": api.api,
    "modules.md": api.modules,
}
"""The pages beside those of the disciplines, and what writes each."""


def write(to: Path) -> None:
    """Write the whole reference into a directory."""
    for name, text in PAGES.items():
        (to / name).write_text(text(), encoding="utf-8")
    disciplines.write(to / "aqm")
