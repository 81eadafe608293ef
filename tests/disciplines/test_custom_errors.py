"""Custom laws: what goes wrong in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aqmlab as lab
from conftest import Command, Write
from custom_laws import law

WRONG = [
    pytest.param(
        "def on_enqueue(self, packet, queue, now):\n    x = 0\n    return 1 / x",
        r"my_module\.py:6: MyLaw\.on_enqueue: ZeroDivisionError: division by zero$",
        id="an exception",
    ),
    pytest.param(
        "def on_enqueue(self, packet, queue, now):\n    return int(\n        'no\\nnumber')",
        r"my_module\.py:5: MyLaw\.on_enqueue: ValueError: invalid literal for int\(\)",
        id="an exception of several lines",
    ),
    pytest.param(
        "def on_enqueue(self, packet, queue, now):\n    pass",
        r'my_module\.py:4: MyLaw\.on_enqueue must answer "pass", "mark" or "drop", got None$',
        id="a forgotten answer",
    ),
    pytest.param(
        "def on_dequeue(self, packet, queue, now):\n    return True",
        r'my_module\.py:4: MyLaw\.on_dequeue must answer "pass", "mark" or "drop", got True$',
        id="nonsense at the exit",
    ),
    pytest.param(
        "def on_enqueue(self, packet):\n    return 'pass'",
        r"my_module\.py:4: MyLaw\.on_enqueue: TypeError: .*takes 2 positional arguments but 4 were given$",
        id="too few parameters",
    ),
    pytest.param(
        "def __init__(self):\n    pass\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'",
        r"my_module\.py:4: MyLaw\.__init__: TypeError: .*takes 1 positional argument but 4 were given$",
        id="a constructor of another kind",
    ),
    pytest.param(
        "next_timeout = 0.5\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'",
        r"my_module\.py:3: MyLaw\.__init__ must leave next_timeout None, since the class has no on_timeout, got 0\.5$",
        id="a timeout without on_timeout",
    ),
    pytest.param(
        "next_timeout = 0.5\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'\n"
        "def on_timeout(self, queue, now):\n    pass",
        r"my_module\.py:7: MyLaw\.on_timeout must leave next_timeout None or a time from 0\.500000001 s on, got 0\.5$",
        id="a timeout that never ends",
    ),
    pytest.param(
        "next_timeout = 'soon'\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'\n"
        "def on_timeout(self, queue, now):\n    pass",
        r"must leave next_timeout None or a time from 0\.000000000 s on, got 'soon'$",
        id="a timeout that is no time",
    ),
    pytest.param(
        "def next_timeout(self):\n    return 1 / 0\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'",
        r"my_module\.py:5: MyLaw\.next_timeout: ZeroDivisionError: division by zero$",
        id="a timeout that raises",
    ),
    pytest.param(
        "p = 1\ndef on_enqueue(self, packet, queue, now):\n    return 'pass'\n"
        "def probe(self):\n    return {'p': self.p, 'name': 'my law'}",
        r"my_module\.py:7: MyLaw\.probe must answer a dict of numbers by name, got \{",
        id="a probe of everything",
    ),
    pytest.param(
        "def on_enqueue(self, packet, queue, now):\n    self.p = 1\n    return 'pass'\n"
        "def probe(self):\n    return {'p': 1.0} if hasattr(self, 'p') else {}",
        r"my_module\.py:7: MyLaw\.probe must always show the same variables, , got \['p'\]$",
        id="a probe that changes",
    ),
    pytest.param(
        "def on_enqueue(self, packet, queue, now):\n    return 'pass'\ndef probe(self):\n    return {'bytes': 1}",
        r"MyLaw\.probe must leave time_s, direction, packets and bytes to the queue, got \{'bytes': 1\}$",
        id="a probe of what the table has",
    ),
]


@pytest.mark.parametrize(("body", "message"), WRONG)
def test_what_goes_wrong_in_a_law_is_one_line_with_its_file(
    write: Write, aqmlab: Command, tmp_path: Path, body: str, message: str
) -> None:
    write(law(body))

    def drive() -> None:
        queue = lab.Queue("my_module:MyLaw")
        queue.enqueue(size=1000, at=0)
        queue.dequeue(at=1)
        queue.probe()

    with pytest.raises(lab.LawError, match=message) as error:
        drive()
    assert "\n" not in str(error.value)

    outcome = aqmlab(
        "compare", "--users", "20", "--duration", "2 s", "--warmup", "1 s", "--seeds", "1", "my_module:MyLaw"
    )
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1] == f"aqmlab: {error.value}"
    assert "Traceback" not in outcome.err
    # The uncongested network needs no law of one's own; of the other cell nothing is left.
    specs = [json.loads(file.read_text()) for file in tmp_path.glob("results/cells/*/spec.json")]
    assert all("droptail" in spec["queue"] for spec in specs)
    assert list(tmp_path.glob("results/cells/.*")) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ny = = 2", r"my_module\.py:2: SyntaxError: invalid syntax$"),
        ("x = 1\nimport missing_module", r"my_module\.py:2: ModuleNotFoundError: No module named 'missing_module'$"),
        ("import sys\nsys.exit(3)", r"my_module\.py:2: SystemExit: 3$"),
    ],
)
def test_a_module_import_error_is_one_line_with_its_file(
    write: Write, aqmlab: Command, source: str, message: str
) -> None:
    write(source)
    with pytest.raises(lab.LawError, match=message) as error:
        lab.Experiment(queue={"my_module:MyLaw": {}})
    outcome = aqmlab("compare", "my_module:MyLaw")
    assert (outcome.code, outcome.err) == (2, f"aqmlab: {error.value}\n")


def test_a_module_that_runs_itself_is_told_what_to_write(write: Write) -> None:
    write(law("def on_enqueue(self, packet, queue, now): return 'pass'") + "\nlab.Queue('my_module:MyLaw')\n")
    with pytest.raises(lab.LawError, match=r'runs itself when it is imported: write if __name__ == "__main__":'):
        lab.Queue("my_module:MyLaw")


def test_the_exception_is_the_cause_and_shown_on_request(
    write: Write, aqmlab: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(law("def on_enqueue(self, packet, queue, now): return 1 / 0"))
    with pytest.raises(lab.LawError) as error:
        lab.Queue("my_module:MyLaw").enqueue(size=1000, at=0)
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    monkeypatch.setenv("AQMLAB_TRACEBACK", "1")
    outcome = aqmlab(
        "compare", "--users", "20", "--duration", "2 s", "--warmup", "1 s", "--seeds", "1", "my_module:MyLaw"
    )
    assert "ZeroDivisionError" in outcome.err
    assert "in on_enqueue" in outcome.err


def test_a_queue_whose_law_has_failed_does_not_go_on_without_it(write: Write) -> None:
    write(law("def on_enqueue(self, packet, queue, now): return 1 / 0"))
    queue = lab.Queue("my_module:MyLaw")
    for act in (lambda: queue.enqueue(size=1000, at=0), lambda: queue.dequeue(at=1), lambda: queue.advance(to=2)):
        with pytest.raises(lab.LawError, match="ZeroDivisionError"):
            act()


def test_an_interrupt_is_no_error_of_the_law(write: Write, small: lab.Experiment, tmp_path: Path) -> None:
    write(law("def on_enqueue(self, packet, queue, now): raise KeyboardInterrupt"))
    parts = small.model_dump(exclude_none=True) | {"queue": {"my_module:MyLaw": {}}}
    with pytest.raises(KeyboardInterrupt):
        lab.run(lab.Experiment(**parts), out=tmp_path / "results")
    assert list((tmp_path / "results" / "cells").iterdir()) == []


ENDS = "def on_enqueue(self, packet, queue, now): {}"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (law(ENDS.format("raise SystemExit(0)")), "my_module.py:4: MyLaw.on_enqueue: SystemExit: 0"),
        (law(ENDS.format("exit()")), "MyLaw.on_enqueue: SystemExit: None"),
        (law(ENDS.format("raise GeneratorExit")), "MyLaw.on_enqueue: GeneratorExit:"),
        (
            law(ENDS.format("raise Own('mine')"), "class Own(BaseException): pass"),
            "MyLaw.on_enqueue: Own: mine",
        ),
        (
            law(f"def __init__(self, *_): raise SystemExit(0)\n{ENDS.format('pass')}"),
            "MyLaw.__init__: SystemExit: 0",
        ),
        (
            law(f"def probe(self): raise SystemExit(0)\n{ENDS.format('pass')}"),
            "MyLaw.probe: SystemExit: 0",
        ),
        ("class Own(BaseException): pass\nraise Own", "my_module.py:2: Own:"),
        (
            law(
                "@dataclass\nclass Config:\n    a: int = 1\n    def __post_init__(self): raise SystemExit(0)\n"
                + ENDS.format("return 'pass'"),
                "from dataclasses import dataclass",
            ),
            "MyLaw.Config: SystemExit: 0",
        ),
    ],
)
def test_a_law_cannot_end_the_program(write: Write, aqmlab: Command, source: str, says: str) -> None:
    write(source)
    outcome = aqmlab(
        "compare", "my_module:MyLaw", "--users", "20", "--warmup", "0s", "--duration", "2s", "--seeds", "1"
    )
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err.splitlines()[-1]


def test_an_answer_that_cannot_be_shown_is_told_by_its_class(write: Write) -> None:
    write(law(ENDS.format("return Own()"), "class Own:\n    def __repr__(self): raise RuntimeError"))
    with pytest.raises(lab.LawError, match="got something of the class Own"):
        lab.Queue("my_module:MyLaw").enqueue(size=1, at=0)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("on_enqeue", "on_enqueue"),
        ("onEnqueue", "on_enqueue"),
        ("on_dequeu", "on_dequeue"),
        ("on_overflw", "on_overflow"),
        ("on_empy", "on_empty"),
        ("on_timout", "on_timeout"),
        ("probes", "probe"),
        ("next_timeot", "next_timeout"),
    ],
)
def test_a_misspelt_hook_is_refused_with_the_right_name(write: Write, wrong: str, right: str) -> None:
    present_hook = "on_enqueue" if right == "on_dequeue" else "on_dequeue"
    write(law(f"def {present_hook}(self, packet, queue, now): return 'pass'\ndef {wrong}(self, *_): return 'pass'"))
    with pytest.raises(lab.SpecError, match=f"my_module:MyLaw: {wrong} is never called: did you mean {right}\\?"):
        lab.Experiment(queue={"my_module:MyLaw": {}})


def test_a_method_of_a_laws_own_is_no_misspelt_hook(write: Write) -> None:
    methods = "\n".join(f"def {name}(self, *_): return 'pass'" for name in ("prob", "control", "_on_enqeue", "timeout"))
    write(law(f"next_timeout = None\n{ENDS.format('return self.prob()')}\ndef on_timeout(self, *_): pass\n{methods}"))
    assert lab.Queue("my_module:MyLaw").enqueue(size=1, at=0) == "queued"


def test_a_timeout_that_nothing_asks_for_is_refused(write: Write) -> None:
    write(law(f"{ENDS.format('return str()')}\ndef on_timeout(self, queue, now): pass"))
    with pytest.raises(lab.SpecError, match="on_timeout is never called, since nothing sets next_timeout"):
        lab.Experiment(queue={"my_module:MyLaw": {}})


@pytest.mark.parametrize(
    ("body", "head", "says"),
    [
        (
            "@dataclass\nclass Config:\n    a: int\n" + ENDS.format("return 'pass'"),
            "from dataclasses import dataclass",
            "my_module:MyLaw: the parameter a needs a default",
        ),
        ("x = 1", "", "my_module:MyLaw: judges nothing: give it on_enqueue or on_dequeue"),
        ("Config = 3\n" + ENDS.format("return 'pass'"), "", "my_module:MyLaw: Config must be a dataclass, got 3"),
    ],
)
def test_a_line_names_a_law_once(write: Write, aqmlab: Command, body: str, head: str, says: str) -> None:
    write(law(body, head))
    outcome = aqmlab("compare", "my_module:MyLaw")
    assert (outcome.code, outcome.err) == (2, f"aqmlab: {says}\n")


def test_a_variable_without_a_value_is_null_in_the_table(write: Write, small: lab.Experiment, tmp_path: Path) -> None:
    write(
        law(f"{ENDS.format('return str(lab.Verdict.PASS)')}\ndef probe(self): return {{'p': float('nan'), 'q': 1.0}}")
    )
    parts = small.model_dump(exclude_none=True) | {
        "queue": {"my_module:MyLaw": {}},
        "protocol": {"warmup": "0 s", "duration": "2 s"},
    }
    queue = lab.run(lab.Experiment(**parts), out=tmp_path / "results").queue
    assert queue["p"].null_count() == queue.height > 0
    assert queue["q"].null_count() == 0
