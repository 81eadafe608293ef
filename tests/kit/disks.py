"""Small file systems of their own, where they may be mounted."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(directory: Path, size: str) -> Iterator[Path]:
    """Mount a small file system, or skip the test."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    try:
        permitted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        permitted = False
    if not permitted:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield directory
    finally:
        # Files that could not be closed for want of room are closed with what holds them.
        gc.collect()
        subprocess.run(["umount", str(directory)], check=True)


def remount(disk: Path, options: str) -> None:
    """Change how it is mounted: ``ro``, ``rw``, ``size=16m``."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)
