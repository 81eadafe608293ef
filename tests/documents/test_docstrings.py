"""Docstrings of what the package offers, as numpydoc reads them: none leaves out a parameter or names one that is not.

Types stand in signatures and are not repeated; not everything needs an example or an explanation at length.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import aqmlab as lab
from aqmlab import flows, plot, style

LEFT_TO_SIGNATURES = {"PR04", "RT01", "YD01"}
"""Types of parameters, and that something is returned or yielded."""

NOT_ASKED_FOR = {"ES01", "EX01", "SA01"}
"""An extended summary, an example, and what to see also."""


def offered() -> Iterator[str]:
    """Name functions, classes and their methods where they are defined; the compiled ones have their stub."""
    for name in lab.__all__:
        member = getattr(lab, name)
        if not (inspect.isclass(member) or inspect.isfunction(member)) or not member.__module__.startswith("aqmlab"):
            continue
        yield f"{member.__module__}.{member.__qualname__}"
        if inspect.isclass(member):
            for method, value in vars(member).items():
                is_method = isinstance(value, classmethod | staticmethod | type(offered))
                # pydantic adds methods of its own.
                if not method.startswith("_") and is_method and value.__module__ == member.__module__:
                    yield f"{member.__module__}.{member.__qualname__}.{method}"
    yield from (f"aqmlab.plot.{name}" for name in plot.__all__)
    yield from (f"aqmlab.style.{name}" for name in style.__all__)
    yield from (f"aqmlab.flows.{name}" for name in flows.__all__)


@pytest.mark.parametrize("name", [*offered()])
def test_a_docstring_is_whole(name: str) -> None:
    read = validate(name)
    unasked = LEFT_TO_SIGNATURES | NOT_ASKED_FOR
    if not NumpyDocString(read["docstring"])["Parameters"]:
        # One line may say all that there is to say of a parameter or of a class's attributes.
        unasked = unasked | {"PR01"}
    assert [text for code, text in read["errors"] if code not in unasked] == []


def test_a_parameter_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plot.bars.__doc__
    before, _, after = plot.bars.__doc__.rpartition("    axis\n")
    monkeypatch.setattr(plot.bars, "__doc__", before + after.partition("\n")[2])
    with pytest.raises(AssertionError, match="axis"):
        test_a_docstring_is_whole("aqmlab.plot.bars")
