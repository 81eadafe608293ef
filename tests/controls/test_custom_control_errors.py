"""Custom congestion controls: mistakes in their code and in specs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.live import run as live
from conftest import Command, Write
from custom_controls import FIXED, bulk, control

REST = "def on_loss(self, window, mss):\n    pass"

WRONG = [
    pytest.param(
        f"def on_ack(self, ack):\n    x = 0\n    self.cwnd /= x\n{REST}",
        r"my_module\.py:6: MyControl\.on_ack: ZeroDivisionError: .*division by zero$",
        id="an exception",
    ),
    pytest.param(
        f"def on_ack(self):\n    pass\n{REST}",
        r"my_module\.py:4: MyControl\.on_ack: TypeError: .*takes 1 positional argument but 2 were given$",
        id="too few parameters",
    ),
    pytest.param(
        f"def __init__(self):\n    pass\ndef on_ack(self, ack):\n    pass\n{REST}",
        r"my_module\.py:4: MyControl\.__init__: TypeError: .*takes 1 positional argument but 3 were given$",
        id="a constructor of another kind",
    ),
    pytest.param(
        f"def __init__(self, config, connection):\n    pass\ndef on_ack(self, ack):\n    pass\n{REST}",
        r"my_module\.py:\d: MyControl\.__init__: AttributeError: 'MyControl' object has no attribute 'cwnd'$",
        id="a constructor that sets no window",
    ),
    pytest.param(
        f"def on_ack(self, ack):\n    self.cwnd = 100\n{REST}",
        r"my_module\.py:4: MyControl\.on_ack must leave cwnd a number of bytes from one segment on, got 100$",
        id="a window below a segment",
    ),
    pytest.param(
        f"def on_ack(self, ack):\n    self.cwnd = float('nan')\n{REST}",
        r"MyControl\.on_ack must leave cwnd a number of bytes from one segment on, got nan$",
        id="a window that is no number",
    ),
    pytest.param(
        f"def on_ack(self, ack):\n    self.ssthresh = 'low'\n{REST}",
        r"MyControl\.on_ack must leave ssthresh None or a number of bytes from 1 on, got 'low'$",
        id="a threshold that is no number",
    ),
    pytest.param(
        f"def on_ack(self, ack):\n    self.pacing_rate_bps = 0\n{REST}",
        r"MyControl\.on_ack must leave pacing_rate_bps None or a number from 1 on, got 0$",
        id="a pacing rate of nothing",
    ),
]


@pytest.mark.parametrize(("body", "message"), WRONG)
def test_a_mistake_in_a_control_is_one_line_with_its_place(
    write: Write, tmp_path: Path, body: str, message: str
) -> None:
    write(control(body))
    with pytest.raises(lab.LawError, match=message) as caught:
        lab.run(bulk("my_module:MyControl"), out=tmp_path / "results")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "results" / "cells").glob("*/metadata.json")) == []


INVALID = [
    ("on_ack = 3", "", r"needs the method on_loss$"),
    (REST, "", r"needs the method on_ack$"),
    (
        f"def on_ack(self, ack):\n    pass\n{REST}\ndef on_mrak(self, window, mss):\n    pass",
        "",
        r"did you mean on_mark\?",
    ),
    (
        f"marks = 'some'\ndef on_ack(self, ack):\n    pass\n{REST}",
        "",
        r"marks must be one of echoed, counted, l4s, got 'some'$",
    ),
    (
        f"marks = 'counted'\ndef on_ack(self, ack):\n    pass\n{REST}\ndef on_mark(self, window, mss):\n    pass",
        "",
        r"on_mark is never called with marks = 'counted': read ack\.marked$",
    ),
    (
        f"@dataclass\nclass Config:\n    source: int = 3\ndef on_ack(self, ack):\n    pass\n{REST}",
        "from dataclasses import dataclass",
        r"no parameter may be called source: it is the hash of the module$",
    ),
    (
        f"@dataclass\nclass Config:\n    a: int\ndef on_ack(self, ack):\n    pass\n{REST}",
        "from dataclasses import dataclass",
        r"the parameter a needs a default$",
    ),
]


@pytest.mark.parametrize(("body", "head", "message"), INVALID)
def test_an_invalid_class_is_refused_before_the_run(write: Write, body: str, head: str, message: str) -> None:
    write(control(body, head))
    with pytest.raises(lab.SpecError, match=message):
        cells_of(bulk("my_module:MyControl"), [1])


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"congestion": "my_module:Absent"},
        r"tcp\.congestion: .*my_module\.py has no class 'Absent'; its congestion controls are Fixed$",
    ),
    ({"congestion": "no_module_of_ours:Fixed"}, r"tcp\.congestion: no module is called 'no_module_of_ours'"),
    ({"congestion": "my module:Fixed"}, r"tcp\.congestion: write a custom congestion control as module:Class"),
    (
        {"control": {"segment": 3}},
        r"tcp\.control: my_module:Fixed has no parameter 'segment' .*it has segments, pacing_mbps$",
    ),
    (
        {"control": {"segments": 2.5}},
        r"tcp\.control\.segments: should be a valid integer, got 2\.5 \(segments; default 20\)$",
    ),
    ({"control": {"segments": 0}}, r"tcp\.control\.segments: should be greater than or equal to 1, got 0"),
    ({"control": {"source": "0"}}, r"tcp\.control\.source: must be left out: it is the hash of the module, got '0'$"),
    ({"control": 3}, r"tcp\.control: must be a table of parameters, got 3$"),
    ({"mix": [{"share": 0.5, "control": {"segments": 0}}]}, r"tcp\.mix\[0\]\.control\.segments: "),
    ({"congestion": "cubic", "control": {"segments": 3}}, r"tcp\.control: has no effect: `cubic` is built in"),
    ({"congestion": "cubik"}, r"tcp\.congestion: unknown `cubik`"),
]


@pytest.mark.parametrize(("tcp", "message"), REFUSED)
def test_a_mistake_in_a_spec_is_one_line_with_its_path(write: Write, tcp: dict[str, Any], message: str) -> None:
    write(FIXED)
    with pytest.raises(lab.SpecError, match=message) as caught:
        cells_of(bulk(**{"congestion": "my_module:Fixed", **tcp}), [1])
    assert "\n" not in str(caught.value)


def test_a_control_that_counts_marks_needs_feedback_that_does(write: Write) -> None:
    write(FIXED.replace("    @dataclass", '    marks = "counted"\n\n    @dataclass'))
    with pytest.raises(
        lab.SpecError, match=r"my_module:Fixed counts marks: it needs ecn = dctcp, accurate or accurate\+\+"
    ):
        cells_of(bulk("my_module:Fixed", ecn=True), [1])
    (cell,) = cells_of(bulk("my_module:Fixed", ecn="accurate"), [1])
    assert cell.resolved["tcp"]["control"]["marks"] == "counted"


def test_a_kernel_has_no_custom_control(write: Write, tmp_path: Path) -> None:
    write(FIXED)
    with pytest.raises(lab.SpecError, match=r"tcp\.congestion: a custom control runs in the simulator only"):
        live.run_live(bulk("my_module:Fixed"), out=tmp_path / "results")


def test_the_engine_refuses_a_control_that_nobody_brings() -> None:
    spec = {**bulk("cubic").explicit_values, "tcp": {"congestion": "my_module:Fixed"}, "users": {"per_side": 0}}
    resolved = _core.Resolved(json.dumps(spec))
    with pytest.raises(
        lab.SpecError, match=r"tcp\.congestion: `my_module:Fixed` is a custom control, which the caller"
    ):
        _core.Simulation(resolved, 1)
    spec["tcp"]["control"] = {"marks": "some"}
    with pytest.raises(lab.SpecError, match=r"tcp\.control\.marks: unknown .* choose echoed, counted, l4s$"):
        _core.Resolved(json.dumps(spec))


def test_the_command_line_names_the_place_of_a_mistake(write: Write, tmp_path: Path, aqmlab: Command) -> None:
    write(control(f"def on_ack(self, ack):\n    self.cwnd += ack.size\n{REST}"))
    (tmp_path / "spec.toml").write_text(
        '[queue.droptail]\n[[sources]]\nbulk = { name = "a", flows = 1 }\n'
        '[protocol]\nduration = "5 s"\nwarmup = "1 s"\n'
    )
    outcome = aqmlab("run", "spec.toml", "--set", "tcp.congestion=my_module:MyControl")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        f"aqmlab: {tmp_path}/my_module.py:5: MyControl.on_ack: AttributeError:"
        " 'builtins.Ack' object has no attribute 'size'"
    )
