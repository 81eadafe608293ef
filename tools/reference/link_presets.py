"""The reference page of the presets of links, each value with its source."""

from __future__ import annotations

import json

from aqmlab.spec.capacity.link_presets import LinkPreset, presets
from markdown import table

_PAGE = """<!-- Written by `make reference` from the code. Change python/aqmlab/spec/capacity, then run it. -->

# Presets of links

`link.preset` names a technology, and fills in the values that the link does not write:

    link = {{ preset = "docsis-3.1 250/25" }}

A technology with plans takes their rates in Mbit/s, down and up; one number is the rate of both.
Any key of the link replaces the value of the preset, and `aqmlab show` lists each value with its origin.
The key of a cell contains the values, not the name of the preset.
Each preset is a start, not your line: [the guide](../guide/links.md) says how to measure yours.

{sections}
"""


def link_presets() -> str:
    """Write the page."""
    return _PAGE.format(sections="\n\n".join(map(_section, presets())))


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
