"""Parts of a spec as models: what the engine declares of a part is filled in where its class is made.

A class says which keys there are and which types they have in Python, for type checkers and editors; defaults and texts
are the engine's.
"""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aqmlab._core import SpecError
from aqmlab.spec import messages, schema

DECLARED: Any = object()
"""Stands for a default that the engine declares; for ``None`` where it declares none."""


class SpecPart(BaseModel):
    """A table of a spec, or the whole of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)

    def __init_subclass__(cls, *, table: str | None = None, **settings: Any) -> None:
        """Fill in what the engine declares of ``table``, before the model is made of it."""
        super().__init_subclass__(**settings)
        declared = schema.part(table or cls.__name__)
        cls.__doc__ = cls.__dict__.get("__doc__") or declared["description"]
        for name in inspect.get_annotations(cls):
            key = declared["properties"].get(name)
            if key is None:
                continue
            default = cls.__dict__.get(name, ...)
            default = key.get("default") if default is DECLARED else default
            setattr(cls, name, Field(default, description=key.get("description")))

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SpecError(messages.one_line(error, type(self))) from None

    # A part of a larger one is checked with it, so that a mistake is named by its whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
