"""Locations of results: a local directory, or a URL that fsspec knows, such as ``s3://bucket/prefix``."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aqmlab._core import SpecError
from aqmlab.ui.extras import require

if TYPE_CHECKING:
    from upath import UPath

Location: TypeAlias = "Path | UPath"
"""A local or remote directory or file."""


def location(out: str | Location) -> Location:
    """Return the location that a text names; text with ``://`` is a URL.

    Raises
    ------
    SpecError
        When fsspec does not know the URL's protocol, or its package is not installed.
    """
    if isinstance(out, Path):
        return out
    if out == "":
        raise SpecError("out: must be a directory or a URL, got an empty text")
    if isinstance(out, str) and "://" not in out:
        return Path(out)
    if str(out).startswith(("s3:", "s3a:")) or find_spec("upath") is None:
        require("remote")
    # upath is slow to import, and most results are local.
    from upath import UPath

    try:
        remote = UPath(out)
        # Open the file system now, so that a missing package is reported before anything runs.
        _ = remote.fs
    except ImportError as error:
        package = getattr(error.__cause__, "name", None) or error.name
        raise SpecError(f"out: {out} needs a package that is not installed: pip install '{package}'") from None
    except (ValueError, TypeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise SpecError(f"out: must be a directory or a URL that fsspec knows, got {str(out)!r} ({reason})") from None
    return remote


_KEY = re.compile(r"[0-9a-f]{16}")


def is_key(name: str) -> bool:
    """Return true if a name can be that of a cell's directory."""
    return _KEY.fullmatch(name) is not None


def local_folder(out: Location) -> Path:
    """Return the local directory for figures and reports: the store itself, or ``results`` for a remote store."""
    return out if isinstance(out, Path) else Path("results")
