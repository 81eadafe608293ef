"""Errors about the files of a results directory."""

from __future__ import annotations

from aqmlab._core import SpecError


class StoreError(Exception):
    """A file of a results directory is damaged or cannot be written: one line that names it."""


class Damaged(StoreError):
    """A file differs from what was written."""


class WriteError(SpecError, StoreError):
    """A results directory cannot be written to, because of its name or of a later change."""
