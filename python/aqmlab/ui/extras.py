"""Extras: optional packages of the parts that need more than the core."""

from __future__ import annotations

from importlib.util import find_spec

from aqmlab._core import SpecError

EXTRAS = {
    "console": ("jinja2", "starlette", "tomli_w", "uvicorn"),
    "remote": ("fsspec", "s3fs", "upath"),
    "report": ("jinja2", "tomli_w"),
    "search": ("optuna", "SALib"),
}
"""The modules of each extra, as ``pyproject.toml`` declares their packages."""


def require(extra: str) -> None:
    """Refuse to go on without the packages of an extra.

    Raises
    ------
    SpecError
        When a package is not installed; the message says how to install the extra.
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise SpecError(f"{', '.join(missing)}: not installed; install the extra: pip install 'aqmlab[{extra}]'")
