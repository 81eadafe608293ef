"""Results move only on purpose: the golden cells, see golden.py."""

from __future__ import annotations

import json

import golden
import pytest
from golden import CELLS, digests, moved

from aqmlab import _core

RECORDED = json.loads(golden.FILE.read_text())


@pytest.mark.parametrize("name", CELLS)
def test_a_golden_cell_gives_what_it_gave(name: str) -> None:
    assert RECORDED["results"] == _core.results_number(), "RESULTS was raised: write the new results by make golden"
    columns = moved(RECORDED["cells"][name], digests(name))
    assert not columns, f"{', '.join(columns)}: results moved: raise RESULTS and say why in the changelog"


def test_all_golden_cells_are_recorded_and_none_that_is_gone() -> None:
    assert list(RECORDED["cells"]) == list(CELLS)


def test_only_a_changed_or_missing_column_counts_as_moved() -> None:
    before = {"queue": {"packets": "a", "bytes": "b"}}
    assert moved(before, {"queue": {"packets": "a", "bytes": "b", "p": "c"}, "marks": {"time_s": "d"}}) == []
    assert moved(before, {"queue": {"packets": "a", "bytes": "c"}}) == ["queue.bytes"]
    assert moved(before, {"queue": {"packets": "a"}}) == ["queue.bytes"]


def test_moved_results_need_a_new_results_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = {name: {"queue": {"packets": "other"}} for name in CELLS}
    monkeypatch.setattr(golden, "digests", changed.__getitem__)
    recorded = golden.FILE.read_text()
    with pytest.raises(SystemExit, match=r"results moved: raise RESULTS and say why in the changelog"):
        golden.main()
    assert golden.FILE.read_text() == recorded
