"""Where results are: a directory of this machine, or whatever fsspec knows by a URL, such as ``s3://bucket/prefix``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aqmlab._core import SpecError

if TYPE_CHECKING:
    from upath import UPath

Location: TypeAlias = "Path | UPath"
"""A directory or file of this machine, or elsewhere."""


def location(out: str | Location) -> Location:
    """Return where results are; text with ``://`` in it is a URL.

    Raises
    ------
    SpecError
        When nobody knows the URL's protocol, or the package that speaks it is not installed.
    """
    if isinstance(out, Path):
        return out
    if out == "":
        raise SpecError("out: must be a directory or a URL, got an empty text")
    if isinstance(out, str) and "://" not in out:
        return Path(out)
    # It takes a while to import, and most results are on this machine.
    from upath import UPath

    try:
        found = UPath(out)
        # Made here, so that what is missing is said before anything runs.
        _ = found.fs
    except ImportError as error:
        package = getattr(error.__cause__, "name", None) or error.name
        raise SpecError(f"out: {out} needs a package that is not installed: pip install '{package}'") from None
    except (ValueError, TypeError, OSError) as error:
        what = " ".join(str(error).split())
        raise SpecError(f"out: must be a directory or a URL that fsspec knows, got {str(out)!r} ({what})") from None
    return found


_KEY = re.compile(r"[0-9a-f]{16}")


def is_key(name: str) -> bool:
    """Tell whether a name can be that of a cell's directory."""
    return _KEY.fullmatch(name) is not None


def is_local(out: Location) -> Path:
    """Return where files for people go: beside results on this machine, else into ``results``, where people look."""
    return out if isinstance(out, Path) else Path("results")
