"""Custom laws: in a queue, in the laboratory and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_queue import traffic

import aqmlab as lab
from aqmlab import _core
from aqmlab.disciplines.custom import registry
from conftest import Command, Write
from custom_laws import STEP, law

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return "my_aqm:Pi"


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
    python_queue = lab.Queue(example, seed=seed, **parameters)
    if "mean_packet" in parameters:
        parameters = {**parameters, "mean_packet": f"{parameters['mean_packet']} B"}
    engine_queue = lab.Queue("pi", seed=seed, **parameters)
    verdicts = traffic(engine_queue, 5000)
    assert traffic(python_queue, 5000) == verdicts
    assert {"queued", "marked", "dropped"} <= set(verdicts), "the traffic gives the law something to say"
    assert python_queue.counters == engine_queue.counters
    assert python_queue.probe() == engine_queue.probe()


def test_a_run_under_pi_in_python_gives_the_results_of_pi(example: str, small: lab.Experiment, tmp_path: Path) -> None:
    parameters = {"q_ref": 10, "a": 1e-3, "b": 9e-4}
    engine_result, python_result = (
        lab.run(lab.Experiment(**small.model_dump(exclude_none=True) | {"queue": {name: parameters}}), out=tmp_path)
        for name in ("pi", example)
    )
    assert engine_result.summary["counters"][0]["dropped_early"] > 100
    labels = ("label", "scheme", "parameters", "spec")
    measured = [
        {name: value for name, value in result.summary.items() if name not in labels}
        for result in (engine_result, python_result)
    ]
    assert measured[0] == measured[1]
    assert python_result.queue.equals(engine_result.queue)


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
    assert registry.find("my_module:MyLaw").law.heard == [  # type: ignore[attr-defined]
        ("enqueue", 700, 0, 1_000_000),
        ("timeout", 1, 0.002),
        ("enqueue", 500, 1, 2_000_000),
        ("overflow", 7),
        ("dequeue", 0.001, 0, 0.003),
        ("empty", 0.003),
    ]


def test_a_law_gets_its_link_parameters_and_random_stream(write: Write) -> None:
    write(STEP)
    step = registry.find("my_module:Step")
    calls: list[Any] = []

    class Spy(step.law):  # type: ignore[misc,name-defined]
        def __init__(self, config: Any, link: lab.LinkContext, rng: lab.Stream) -> None:
            calls.append((config, link, rng.uniform(), rng.below(1000)))

    lab.Queue(Spy, threshold=3, rate="10 Mbit/s", overhead="20 B", seed=1)
    ((config, link, uniform, below),) = calls
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
    make = registry.find("my_module:MyLaw").maker({})
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
    output = aqmlab("aqm", "show", "my_module:Step").out
    assert all(word in output for word in ("threshold", "packets", "20", "From here on."))
    assert not list(tmp_path.glob("**/__pycache__"))
