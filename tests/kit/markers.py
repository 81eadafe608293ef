"""Markers by need, and the order of the files by their markers.

A test is marked by the fixtures that it uses; the markers are declared in ``pyproject.toml``.
"""

from __future__ import annotations

import pytest

BY_FIXTURE = {"_live_permitted": "live", "bucket": "remote", "short_run_command": "documents"}
"""The marker of each test that uses a fixture."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by its fixtures."""
    for fixture in BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(BY_FIXTURE[fixture])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files with slow tests first, so that no worker begins one when the others have nothing left to do."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
