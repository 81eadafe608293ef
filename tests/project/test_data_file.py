"""Data files: a mistake in one is a line with its file and its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqmlab import data_file
from aqmlab.spec.capacity.link_presets import LinkPreset

PRESET = '[[preset]]\nname = "dial-up"\nabout = "A modem."\nleaves_out = "All."\n'
RATE = '[[preset.values]]\nkey = "rate"\nvalue = "56 kbit/s"\nsource = "V.90"\n'


def read(file: Path, text: str) -> tuple[LinkPreset, ...]:
    file.write_text(text, encoding="utf-8")
    return data_file.read(file, dict[str, tuple[LinkPreset, ...]])["preset"]


def test_a_file_has_the_values_that_it_writes(tmp_path: Path) -> None:
    (preset,) = read(tmp_path / "links.toml", PRESET + RATE)
    assert (preset.name, preset.plan, preset.filled(None)) == ("dial-up", None, {"rate": "56 kbit/s"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PRESET, r"^links\.toml: preset\.0\.values: Field required$"),
        (PRESET + RATE + "soruce = 1\n", r"^links\.toml: preset\.0\.values\.0\.soruce: Unexpected keyword argument$"),
        (PRESET + "plan = 5\n" + RATE, r"^links\.toml: preset\.0\.plan: Input should be a dictionary"),
        (PRESET + "plan = 5\nplan = 6\n", r"^links\.toml: Cannot overwrite a value \(at line 6, column 9\)$"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path / "links.toml", text)
    assert "\n" not in str(error.value)
