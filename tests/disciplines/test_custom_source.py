"""Custom laws: their source is part of what a result is of."""

from __future__ import annotations

import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.store.store import Store
from conftest import Write
from custom_laws import STEP, law


def test_a_changed_source_is_another_cell(write: Write, small: lab.Experiment) -> None:
    def key() -> str:
        step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {}})})
        return cells_of(step, [1])[0].key

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
    from aqmlab.running.run import run_cell

    write(STEP)
    step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {}})})
    cell = cells_of(step, [1])[0]
    write(STEP + "\n")
    with pytest.raises(lab.SpecError, match="its source has changed since this cell was prepared"):
        run_cell(cell, store)
    assert list((store.out / "cells").iterdir()) == []


def test_the_resolved_spec_says_all_parameters_and_the_source(write: Write, small: lab.Experiment) -> None:
    write(STEP)
    step = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"my_module:Step": {"threshold": 3}})})
    cell = cells_of(step, [1])[0]
    assert cell.scheme == "my_module:Step"
    assert cell.label == "my_module:Step:threshold=3"
    assert cell.parameters.keys() == {"threshold", "name", "limit", "source"}
    assert (cell.parameters["threshold"], cell.parameters["limit"]) == (3, "10000 packets")
