"""Laws that are defined where they are used: in a notebook, a script or a function."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.disciplines.custom import registry, source
from aqmlab.spec import schemes
from conftest import Write

MODULE = '''
import aqmlab as lab
from dataclasses import dataclass

TOP = 20

def signal(queue, threshold):
    return "mark" if queue.packets >= min(threshold, TOP) else "pass"

class Step(lab.Law):
    """Signals every packet that finds a threshold of packets waiting."""

    @dataclass
    class Config:
        threshold: int = 20

    def on_enqueue(self, packet, queue, now):
        return signal(queue, self.config.threshold)
'''


def _cell_of_a_notebook(text: str, number: int = 1) -> Any:
    """Run a text as a notebook does: in ``__main__``, which has no file, with the text kept for ``inspect``."""
    name = f"<cell {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    return namespace["Step"]


@pytest.fixture
def experiment() -> lab.Experiment:
    return lab.Experiment(
        link={"rate": "2 Mbit/s"}, users={"per_side": 100}, protocol={"warmup": "1 s", "duration": "5 s"}
    )


def test_a_class_runs_like_a_module_in_compare_and_experiment(
    experiment: lab.Experiment, write: Write, tmp_path: Path
) -> None:
    step = _cell_of_a_notebook(MODULE)
    write(MODULE)
    compared = lab.compare(
        "my_module:Step", step, experiment=experiment, seeds=[1], baseline=False, out=tmp_path / "out"
    )
    module_result, class_result = compared.results
    assert class_result.cell.label == "__main__:Step"
    assert class_result.cell.key != module_result.cell.key, "another name is another cell"
    assert module_result.queue.equals(class_result.queue)
    single = lab.run(
        experiment.model_copy(update={"queue": lab.QueueSpec.model_validate({step: {}})}), out=tmp_path / "out"
    )
    assert single.cell.key == class_result.cell.key


def test_parameters_are_typed_as_for_any_law(experiment: lab.Experiment) -> None:
    step = _cell_of_a_notebook(MODULE)
    assert lab.Experiment(queue={step: {"threshold": 7}}).queue.parameters == {"threshold": 7}
    assert schemes.parse("__main__:Step:threshold=7").queue.parameters == {"threshold": 7}
    with pytest.raises(lab.SpecError, match=r"__main__:Step has no parameter 'treshold' .did you mean 'threshold'"):
        lab.Experiment(queue={step: {"treshold": 7}})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("self.config.threshold", "self.config.threshold + 1", id="the law"),
        pytest.param("threshold: int = 20", "threshold: int = 21", id="its parameters"),
        pytest.param("min(threshold, TOP)", "max(threshold, TOP)", id="a function that it uses"),
        pytest.param("TOP = 20", "TOP = 21", id="a value that the function uses"),
    ],
)
def test_what_a_law_uses_is_part_of_its_hash(old: str, new: str) -> None:
    assert old in MODULE
    before = source.digest(_cell_of_a_notebook(MODULE))
    assert source.digest(_cell_of_a_notebook(MODULE.replace(old, new), number=2)) != before
    assert source.digest(_cell_of_a_notebook(f"# Another cell.\n{MODULE}\nunused = 1\n", number=3)) == before


def test_what_a_law_inherits_and_encloses_is_part_of_its_hash() -> None:
    def law_with(threshold: int) -> type[lab.Law]:
        class Base(lab.Law):
            def on_enqueue(self, packet: Any, queue: Any, now: Any) -> Any:
                return "mark" if queue.packets >= threshold else "pass"

        class Derived(Base):
            pass

        return Derived

    assert source.digest(law_with(3)) == source.digest(law_with(3)) != source.digest(law_with(4))


def test_a_class_of_a_module_goes_by_the_modules_name(write: Write) -> None:
    write(MODULE)
    assert registry.register(registry.find("my_module:Step").law) == "my_module:Step"


def test_two_laws_of_one_name_cannot_be_compared(experiment: lab.Experiment, tmp_path: Path) -> None:
    registry = [_cell_of_a_notebook(MODULE), _cell_of_a_notebook(MODULE)]
    with pytest.raises(lab.SpecError, match="got __main__:Step more than once"):
        lab.compare(*registry, experiment=experiment, seeds=[1], out=tmp_path)


def test_a_mistake_is_told_with_its_place(experiment: lab.Experiment, tmp_path: Path) -> None:
    step = _cell_of_a_notebook(MODULE.replace("min(threshold", "mim(threshold"))
    with pytest.raises(lab.LawError, match=r"^<cell 1>:8: Step\.on_enqueue: NameError: name 'mim' is not defined"):
        lab.compare(step, experiment=experiment, seeds=[1], baseline=False, out=tmp_path)


def test_a_class_without_a_source_is_refused() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(MODULE, "<nowhere>", "exec"), namespace)
    with pytest.raises(lab.SpecError, match=r"^Step: the source of .* cannot be read.* write it into a file"):
        schemes.parse(namespace["Step"])


def test_a_class_that_is_no_law_is_refused() -> None:
    with pytest.raises(lab.SpecError, match=r"must be a class derived from aqmlab\.Law"):
        schemes.parse(Path)  # type: ignore[arg-type]
    with pytest.raises(lab.SpecError, match="no class is called 'Nowhere' here"):
        schemes.parse("__main__:Nowhere")


def test_a_script_compares_its_own_law(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"""{MODULE}
if __name__ == "__main__":
    experiment = lab.Experiment(users={{"per_side": 20}}, protocol={{"warmup": "1 s", "duration": "2 s"}})
    compared = lab.compare(Step, "__main__:Step:threshold=5", experiment=experiment, seeds=[1], baseline=False)
    print([result.cell.scheme for result in compared.results], len({{result.cell.key for result in compared.results}}))
""")
    process = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.stderr == ""
    assert process.stdout == "['__main__:Step', '__main__:Step'] 2\n"
    (first, *_) = (tmp_path / "results" / "cells").iterdir()
    assert json.loads((first / "spec.json").read_text())["queue"]["__main__:Step"]["source"]
