"""Custom laws: their names and their parameters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.disciplines.custom import registry
from aqmlab.spec import schemes
from conftest import Write
from custom_laws import STEP, law


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
    discipline = registry.discipline("my_module:Step")
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
def test_invalid_parameters_are_refused_like_the_catalogues(
    write: Write, small: lab.Experiment, parameters: dict[str, Any], message: str
) -> None:
    write(STEP)
    parts = small.model_dump(exclude_none=True) | {"queue": {"my_module:Step": parameters}}
    with pytest.raises(lab.SpecError) as run_error:
        lab.run(lab.Experiment(**parts))
    with pytest.raises(lab.SpecError) as queue_error:
        lab.Queue("my_module:Step", **parameters)
    for error in (run_error, queue_error):
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
        (STEP, "my module:Step", "write a custom law as module:Class, got 'my module:Step'"),
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
            "no parameter may be called ecn: it belongs to the hosts",
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


TIMES = law(
    """@dataclass
class Config:
    target: Annotated[float, "s", "The delay to hold."] = 0.005
    interval: Annotated[int, "ms", "How often it looks."] = 100
    gain: Annotated[float, "1/s", "A gain."] = 1.0
def on_enqueue(self, packet, queue, now): return "pass\"""",
    "from dataclasses import dataclass\nfrom typing import Annotated",
)


@pytest.mark.parametrize(
    ("text", "target", "interval"),
    [
        ("target=15 ms,interval=50 ms", 0.015, 50),
        ("target=1100us,interval=1 s", 0.0011, 1000),
        ("target=0.02,interval=30", 0.02, 30),
    ],
)
def test_times_of_a_law_are_typed_as_those_of_the_catalogue(
    write: Write, text: str, target: float, interval: int
) -> None:
    write(TIMES)
    scheme = schemes.parse(f"my_module:MyLaw:{text}")
    assert scheme.label == f"my_module:MyLaw:{text}"
    parameters = scheme.queue.with_defaults().parameters
    assert (parameters["target"], parameters["interval"]) == (target, interval)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("target=15 parsecs", r"queue\.my_module:MyLaw\.target: .*parsecs.*\(s; default 0\.005\)"),
        (
            "interval=1500us",
            r"queue\.my_module:MyLaw\.interval: should be a valid integer, got 1\.5 \(ms; default 100\)",
        ),
        ("gain=15 ms", r"queue\.my_module:MyLaw\.gain: should be a valid number, got '15 ms'"),
    ],
)
def test_a_time_that_a_law_cannot_have_is_one_line(write: Write, text: str, says: str) -> None:
    write(TIMES)
    with pytest.raises(lab.SpecError, match=says):
        schemes.parse(f"my_module:MyLaw:{text}").queue.with_defaults()
