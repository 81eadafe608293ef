"""Markers by need: a test is marked by the fixtures that it uses; the markers are declared in ``pyproject.toml``."""

from __future__ import annotations

import pytest

BY_FIXTURE = {"_live_permitted": "live", "bucket": "remote", "short_run_command": "documents"}
"""The marker of each test that uses a fixture."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by its fixtures."""
    for fixture in BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(BY_FIXTURE[fixture])
