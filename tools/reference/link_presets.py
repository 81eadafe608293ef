"""The reference page of the presets of links, each value with its source."""

from __future__ import annotations

import json

from aqmlab.spec.capacity.link_presets import LinkPreset, presets
from markdown import table
from reference.template import template


def link_presets() -> str:
    """Write the page."""
    return template("link-presets").format(sections="\n\n".join(map(_section, presets())))


def _section(preset: LinkPreset) -> str:
    plans = ""
    if preset.plan is not None:
        plans = f" Plans up to {preset.fastest} Mbit/s down/up; without rates {preset.plan}."
    values = preset.filled(preset.plan)
    rows = [(f"`{value.key}`", f"`{json.dumps(values[value.key])}`", value.source) for value in preset.values]
    return (
        f"## `{preset.name}`\n\n{preset.about}{plans}\n\n"
        f"{table(('key', 'value', 'source'), rows)}\nLeaves out: {preset.leaves_out}"
    )
