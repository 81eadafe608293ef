"""All studies: their runs, lengths and claims."""

from __future__ import annotations

import pytest

from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.studies import STUDIES, find
from aqmlab.studies.kit.study import study_cells


@pytest.mark.parametrize("name", STUDIES)
def test_lengths_have_the_same_runs_which_the_engine_accepts(name: str) -> None:
    study = find(name)
    assert study.name == name
    assert list(study.lengths) == ["quick", "default", "full"]
    one_seed = {name: length.repeated(range(1, 2)) for name, length in study.lengths.items()}
    quick, default = (list(study_cells(study, one_seed[name], load_calibrations())) for name in ("quick", "default"))
    assert quick == default
    # Only their names: the matrix of a full length may have thousands.
    full = [run.name for run in study.runs(one_seed["full"])]
    assert full[: len(quick)] == quick
    assert len(set(full)) == len(full)


@pytest.mark.parametrize("name", STUDIES)
def test_each_registered_claim_is_reviewed_and_quotes_words(name: str) -> None:
    study = find(name)
    claims = study.reviewed_claims()
    registered = [claim.id for claim in study.registration().claims]
    assert [claim.id for claim in claims][: len(registered)] == registered
    assert len({claim.id for claim in claims}) == len(claims)
    runs = {run.name for run in study.runs(study.lengths["quick"])}
    for claim in claims:
        assert 1 <= len(claim.phrase.split()) < 12, claim.id
        assert bool(claim.place and claim.gist) == (claim.id not in registered)
        assert {run for part in claim.parts for run in part.runs} <= runs, claim.id
    assert set(study.printed()) & runs or not study.printed()
