"""Data of the package in TOML: one reader, which checks a file against the classes of its content."""

from __future__ import annotations

import tomllib
from importlib.resources.abc import Traversable
from types import GenericAlias
from typing import Any, TypeVar

Content = TypeVar("Content")


def read(file: Traversable, shape: type[Content]) -> Content:
    """Return the content of a TOML file.

    Parameters
    ----------
    file
        The file.
    shape
        The type of the content, such as a dataclass, or ``dict[str, tuple[Part, ...]]`` of one.

    Raises
    ------
    ValueError
        When the content has a wrong, missing or unknown key: one line with the file and the key.
    """
    # Few commands read such a file, and help texts do not wait for pydantic.
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        # The configuration does not reach a dataclass itself, only those in another type.
        inside: Any = GenericAlias(tuple, (shape,))
        checked: tuple[Content] = TypeAdapter(inside, config=ConfigDict(extra="forbid")).validate_python((content,))
        return checked[0]
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file.name}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{file.name}: {'.'.join(map(str, first['loc'][1:]))}: {first['msg']}") from None
