"""Equal defaults of commands and of their functions in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.advice.advice import MINIMISED
from aqmlab.cli.options import read_seeds
from aqmlab.live.parity import parity
from aqmlab.live.run import run_command, run_live
from aqmlab.results.compare import DEFAULT_SEEDS
from reference.commands import leaves

FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "advise": (lab.AccessLink, lab.advise),
    "compare": (lab.compare,),
    "live": (run_live, run_command),
    "parity": (parity,),
    "report": (lab.report,),
    "run": (lab.run,),
    "sensitivity": (lab.sensitivity,),
    "sweep": (lab.sweep,),
    "tune": (lab.tune,),
}


def options(command: str) -> dict[str, Any]:
    return {option.name: option for option in dict(leaves())[f"aqmlab {command}"].params}


def typed(option: Any) -> Any:
    """Return what holds where an option is left out; what the command leaves open it says in words."""
    if option.name == "seeds" and option.default is not None:
        return tuple(read_seeds(option.default))
    if option.default is None and isinstance(option.show_default, str) and ", " in option.show_default:
        return tuple(option.show_default.split(", "))
    return option.default


@pytest.mark.parametrize("command", FUNCTIONS)
def test_a_command_has_the_defaults_of_its_functions(command: str) -> None:
    given = {
        name: parameter.default
        for function in FUNCTIONS[command]
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    shared = {name: option for name, option in options(command).items() if name in given}
    assert "out" in shared
    for name, option in shared.items():
        # A list that is left out is no entry, and a flag that is not set is false.
        assert (typed(option) or None) == (given[name] or None), name


def test_what_is_said_of_a_default_is_so() -> None:
    compare = options("compare")
    assert tuple(read_seeds(compare["seeds"].show_default)) == DEFAULT_SEEDS
    assert int(compare["pcap_packets"].show_default) == lab.Pcap(file="x").packets
    assert all(name in options("advise")["minimise"].help for name in MINIMISED)
