"""Laws of the user's own: in a queue, in the laboratory and on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core, own, schemes
from aqmlab.cell import make_cell
from aqmlab.store import Store
from conftest import Command
from test_queue import traffic

EXAMPLES = Path(__file__).parents[1] / "examples"

STEP = '''
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

import aqmlab as lab


class Step(lab.Law):
    """Signals every packet that finds a threshold of packets waiting."""

    @dataclass
    class Config:
        threshold: Annotated[int, Field(ge=1), "packets", "From here on."] = 20
        name: str = "step"

    def on_enqueue(self, packet, queue, now):
        return "mark" if queue.packets >= self.config.threshold else "pass"
'''

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module into the current directory."""
    monkeypatch.chdir(tmp_path)

    def write(source: str, name: str = "my_module") -> Path:
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        return file

    return write


def law(body: str, head: str = "") -> str:
    """Return a module with a law of this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import aqmlab as lab\n{head}\nclass MyLaw(lab.Law):\n{lines}"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return "my_aqm:Pi"


# The same verdicts and the same results as the law of the catalogue.


@pytest.mark.parametrize(
    "parameters",
    [
        {"q_ref": 3, "a": 0.03, "b": 0.025},
        {"q_ref": 3, "a": 0.03, "b": 0.025, "mode": "packet", "limit": "12 packets", "sampling_hz": 333},
        {"q_ref": 0, "a": 2.0, "b": 1.0, "mean_packet": 700, "limit": "9 kB"},
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_pi_in_python_gives_the_verdicts_of_pi(example: str, parameters: dict[str, Any], seed: int) -> None:
    theirs = lab.Queue(example, seed=seed, **parameters)
    if "mean_packet" in parameters:
        parameters = {**parameters, "mean_packet": f"{parameters['mean_packet']} B"}
    ours = lab.Queue("pi", seed=seed, **parameters)
    said = traffic(ours, 5000)
    assert traffic(theirs, 5000) == said
    assert {"queued", "marked", "dropped"} <= set(said), "the traffic gives the law something to say"
    assert theirs.counters == ours.counters
    assert theirs.probe() == ours.probe()


def test_a_run_under_pi_in_python_gives_the_results_of_pi(example: str, small: lab.Experiment, tmp_path: Path) -> None:
    parameters = {"q_ref": 10, "a": 1e-3, "b": 9e-4}
    ours, theirs = (
        lab.run(lab.Experiment(**small.model_dump(exclude_none=True) | {"queue": {name: parameters}}), out=tmp_path)
        for name in ("pi", example)
    )
    assert ours.summary["links"][0]["dropped_early"] > 100
    assert theirs.summary == ours.summary
    assert theirs.queue.equals(ours.queue)


# What a law is told.


def test_a_law_hears_of_everything_in_its_order(write: Write) -> None:
    write(
        law(
            """\
heard = []
next_timeout = 0.002
def on_enqueue(self, packet, queue, now):
    self.heard.append(('enqueue', packet.size, queue.packets, now.ns))
    return 'pass'
def on_dequeue(self, packet, queue, now):
    self.heard.append(('dequeue', packet.enqueued_at, queue.bytes, now))
    return 'pass'
def on_overflow(self, packet, queue, now):
    self.heard.append(('overflow', packet.flow))
def on_empty(self, now):
    self.heard.append(('empty', now))
def on_timeout(self, queue, now):
    self.heard.append(('timeout', queue.packets, now))
    self.next_timeout = None
"""
        )
    )
    queue = lab.Queue("my_module:MyLaw", limit=1)
    queue.enqueue(size=700, at=0.001)
    queue.enqueue(size=500, flow=7, at=0.002)
    queue.dequeue(at=0.003)
    assert own.find("my_module:MyLaw").law.heard == [  # type: ignore[attr-defined]
        ("enqueue", 700, 0, 1_000_000),
        ("timeout", 1, 0.002),
        ("enqueue", 500, 1, 2_000_000),
        ("overflow", 7),
        ("dequeue", 0.001, 0, 0.003),
        ("empty", 0.003),
    ]


def test_a_law_knows_its_link_its_parameters_and_draws_from_its_stream(write: Write) -> None:
    write(STEP)
    step = own.find("my_module:Step")
    made: list[Any] = []

    class Spy(step.law):  # type: ignore[misc,name-defined]
        def __init__(self, config: Any, link: lab.LinkContext, rng: lab.Stream) -> None:
            made.append((config, link, rng.uniform(), rng.below(1000)))

    lab.Queue(Spy, threshold=3, rate="10 Mbit/s", overhead="20 B", seed=1)
    ((config, link, uniform, below),) = made
    assert (config.threshold, config.name) == (3, "step")
    assert (link.rate_bps, link.overhead_bytes) == (10_000_000, 20)
    assert link.packets_per_sec(1230) == 1000
    # The golden draws of crates/units/src/stream.rs: those of the stream queue/0.
    assert (uniform, below) == ((14_124_674_512_140_866_598 >> 11) / 2**53, 11_348_788_666_130_341_893 * 1000 >> 64)


def test_the_laws_of_two_queues_share_no_parameters(write: Write) -> None:
    write(
        law(
            """\
@dataclass
class Config:
    seen: int = 0
def on_enqueue(self, packet, queue, now):
    self.config.seen += 1
    return "pass"
def probe(self):
    return {"seen": self.config.seen}
""",
            "from dataclasses import dataclass",
        )
    )
    make = own.find("my_module:MyLaw").maker({})
    text = '{"my_module:MyLaw": {}}'
    first, second = (_core.Qdisc(text, "1 Mbit/s", "0 B", 1, make) for _ in range(2))
    first.enqueue(1000, 0, "ce", 0)
    assert (first.probe(), second.probe()) == ({"seen": 1}, {"seen": 0})


def test_a_class_that_was_handed_over_is_a_discipline_too(write: Write) -> None:
    class Never(lab.Law):
        """Drops all."""

        limit = 3

        def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
            return lab.Verdict.DROP

    queue = lab.Queue(Never)
    assert queue.enqueue(size=1000, ecn="ect0", at=0) == "dropped"
    assert queue.counters.dropped_forced == 1


def test_the_answers_of_a_law_do_what_those_of_the_catalogue_do(write: Write) -> None:
    write(
        law("def on_dequeue(self, packet, queue, now): return {1: 'pass', 2: 'mark', 3: lab.Verdict.DROP}[packet.flow]")
    )
    queue = lab.Queue("my_module:MyLaw")
    for flow, ecn in ((1, "ect0"), (2, "ect0"), (2, "not_ect"), (3, "ect0"), (1, "not_ect")):
        queue.enqueue(size=1000, flow=flow, ecn=ecn, at=0)  # type: ignore[arg-type]
    left = [packet and packet.ecn for packet in (queue.dequeue(at=1) for _ in range(4))]
    assert left == ["ect0", "ce", "not_ect", None]
    assert (queue.counters.marked, queue.counters.dropped_at_dequeue) == (1, 2)


# Its name and its parameters.


@pytest.mark.parametrize(
    ("text", "name", "parameters", "ecn"),
    [
        ("my_module:Step", "my_module:Step", {}, None),
        ("my_module:Step:threshold=3", "my_module:Step", {"threshold": 3}, None),
        ("my_module:Step:threshold=3,ecn=true,limit=30 kB", "my_module:Step", {"threshold": 3, "limit": "30 kB"}, True),
    ],
)
def test_a_scheme_names_a_law_by_module_and_class(
    write: Write, text: str, name: str, parameters: dict[str, Any], ecn: bool | None
) -> None:
    write(STEP)
    scheme = schemes.parse(text)
    assert (scheme.queue.discipline, scheme.queue.parameters, scheme.ecn) == (name, parameters, ecn)
    assert schemes.parse(schemes.label(scheme.queue, ecn=bool(ecn))).queue == scheme.queue


def test_a_law_in_a_package_is_found(write: Write, tmp_path: Path) -> None:
    (tmp_path / "my_laws").mkdir()
    (tmp_path / "my_laws" / "helper.py").write_text("VERDICT = 'drop'\n")
    source = law("def on_enqueue(self, packet, queue, now): return VERDICT", "from my_laws.helper import VERDICT")
    (tmp_path / "my_laws" / "inner.py").write_text(source)
    assert lab.Queue("my_laws.inner:MyLaw").enqueue(size=1, at=0) == "dropped"


def test_an_own_law_is_described_as_those_of_the_catalogue_are(write: Write) -> None:
    write(STEP)
    discipline = own.discipline("my_module:Step")
    assert discipline.summary == "Signals every packet that finds a threshold of packets waiting."
    assert discipline.decides_at == "enqueue"
    threshold, name, limit = discipline.parameters
    assert (threshold.name, threshold.unit, threshold.default) == ("threshold", "packets", "20")
    assert threshold.meaning == "From here on."
    assert (name.unit, name.default) == ("str", "step")
    assert (limit.name, limit.default) == ("limit", "10000 packets")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"treshold": 3},
            "my_module:Step has no parameter 'treshold' (did you mean 'threshold'?); it has threshold, name, limit",
        ),
        (
            {"threshold": 0},
            "queue.my_module:Step.threshold: should be greater than or equal to 1, got 0 (packets; default 20)",
        ),
        ({"threshold": "many"}, "queue.my_module:Step.threshold: should be a valid integer, got 'many' (packets;"),
        ({"threshold": 2.5}, "queue.my_module:Step.threshold: should be a valid integer, got 2.5 (packets;"),
        ({"limit": 0}, "queue.my_module:Step.limit: must be at least 1 packet or 1 B, got 0 packets"),
        ({"limit": "9"}, 'queue.my_module:Step.limit: "9": write packets or a size'),
        ({"source": "mine"}, "my_module:Step has no parameter 'source'"),
    ],
)
def test_parameters_that_cannot_be_are_refused_as_those_of_the_catalogue_are(
    write: Write, small: lab.Experiment, parameters: dict[str, Any], message: str
) -> None:
    write(STEP)
    parts = small.model_dump(exclude_none=True) | {"queue": {"my_module:Step": parameters}}
    with pytest.raises(lab.SpecError) as of_run:
        lab.run(lab.Experiment(**parts))
    with pytest.raises(lab.SpecError) as of_queue:
        lab.Queue("my_module:Step", **parameters)
    for error in (of_run, of_queue):
        text = str(error.value)
        assert text.removeprefix("queue: ").startswith(message)
        assert "\n" not in text


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (STEP, "your_module:Step", "no module is called 'your_module': neither on sys.path nor in "),
        (STEP, "my_module.inner:Step", "no module is called 'my_module.inner'"),
        (STEP, "my_module:step", "has no class 'step'; its laws are Step"),
        ("x = 1", "my_module:Step", "has no class 'Step', and no law"),
        (STEP, "my_module:dataclass", "my_module:dataclass must be a class derived from aqmlab.Law, got <function"),
        (STEP, "my_module:Field", "must be a class derived from aqmlab.Law"),
        (STEP, "my module:Step", "write a law of your own as module:Class, got 'my module:Step'"),
        (STEP, "queue:Queue", "queue:Queue must be a class derived from aqmlab.Law"),
        (
            law("def on_timeout(self, queue, now): pass"),
            "my_module:MyLaw",
            "judges nothing: give it on_enqueue or on_d",
        ),
        (
            law("class Config: pass\ndef on_enqueue(self, packet, queue, now): return 'pass'"),
            "my_module:MyLaw",
            "Config must be a dataclass, got <class",
        ),
        (
            law(
                "@dataclass\nclass Config:\n    q: int\ndef on_enqueue(self, packet, queue, now): return 'pass'",
                "from dataclasses import dataclass",
            ),
            "my_module:MyLaw",
            "the parameter q needs a default",
        ),
        (
            law(
                "@dataclass\nclass Config:\n    ecn: bool = True\n"
                "def on_enqueue(self, packet, queue, now): return 'pass'",
                "from dataclasses import dataclass",
            ),
            "my_module:MyLaw",
            "no parameter may be called ecn: it is the hosts' business",
        ),
    ],
)
def test_what_is_no_law_is_refused_with_a_reason(write: Write, source: str, name: str, message: str) -> None:
    write(source)
    with pytest.raises(lab.SpecError) as error:
        lab.Experiment(queue={name: {}})
    assert message in str(error.value)
    assert str(error.value).startswith("queue: ")
    with pytest.raises(lab.SpecError):
        lab.Queue(name)


def test_another_modules_import_stays_what_it_was(write: Write) -> None:
    import queue as before

    with pytest.raises(lab.SpecError):
        lab.Queue("queue:Queue")
    assert sys.modules["queue"] is before


# Its source is part of what a result is of.


def test_a_changed_source_is_another_cell(write: Write, small: lab.Experiment) -> None:
    def key() -> str:
        step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {}})})
        return make_cell(step, seed=1, load_percent=None).key

    write(STEP)
    first = key()
    assert key() == first
    write(STEP.replace("= 20", "= 21"))
    assert key() != first
    write(STEP + "\n# A comment.\n")
    assert key() != first
    write(STEP)
    assert key() == first


def test_a_changed_source_is_what_runs(write: Write) -> None:
    write(law("def on_enqueue(self, packet, queue, now): return 'pass'"))
    assert lab.Queue("my_module:MyLaw").enqueue(size=1, at=0) == "queued"
    write(law("def on_enqueue(self, packet, queue, now): return 'drop'"))
    assert lab.Queue("my_module:MyLaw").enqueue(size=1, at=0) == "dropped"


def test_a_cell_whose_law_has_changed_since_is_not_run(write: Write, small: lab.Experiment, store: Store) -> None:
    from aqmlab.run import run_cell

    write(STEP)
    step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {}})})
    cell = make_cell(step, seed=1, load_percent=None)
    write(STEP + "\n")
    with pytest.raises(lab.SpecError, match="its source has changed since this cell was prepared"):
        run_cell(cell, store)
    assert list((store.out / "cells").iterdir()) == []


def test_the_resolved_spec_says_all_parameters_and_the_source(write: Write, small: lab.Experiment) -> None:
    write(STEP)
    step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {"threshold": 3}})})
    cell = make_cell(step, seed=1, load_percent=None)
    assert cell.scheme == "my_module:Step"
    assert cell.label == "my_module:Step:threshold=3"
    assert cell.parameters.keys() == {"threshold", "name", "limit", "source"}
    assert (cell.parameters["threshold"], cell.parameters["limit"]) == (3, "10000 packets")


# Its errors.

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
        id="a timeout for nobody",
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
def test_a_module_that_cannot_be_imported_is_one_line_with_its_file(
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


def test_the_exception_is_the_cause_and_the_command_line_shows_it_when_asked(
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


# On the command line.


def test_an_own_law_is_compared_run_and_shown(write: Write, aqmlab: Command, tmp_path: Path) -> None:
    write(STEP)
    short = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "1")
    record = json.loads(aqmlab("compare", *short, "--json", "my_module:Step:threshold=3,ecn=true").out)["schemes"][1]
    assert record["label"] == "my_module:Step:threshold=3,ecn=true"
    assert record["parameters"]["threshold"] == 3
    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[queue."my_module:Step"]\nthreshold = 5\n[users]\nper_side = 20\n'
        '[protocol]\nwarmup = "1 s"\nduration = "2 s"\n'
    )
    record = json.loads(aqmlab("run", str(spec), "--json").out)
    assert (record["scheme"], record["parameters"]["threshold"]) == ("my_module:Step", 5)
    shown = aqmlab("aqm", "show", "my_module:Step").out
    assert all(word in shown for word in ("threshold", "packets", "20", "From here on."))
    assert not list(tmp_path.glob("**/__pycache__"))
