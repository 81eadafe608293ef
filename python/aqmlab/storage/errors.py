"""Errors about the files of a results directory."""

from __future__ import annotations

from aqmlab._core import SpecError


class StoreError(Exception):
    """A file of a results directory is damaged or cannot be written: one line that names it."""


class Damaged(StoreError):
    """A file is not what was written."""


class WriteError(SpecError, StoreError):
    """A results directory cannot be written to: a mistake of who named it, or what became of it under way."""
