from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab

api: Any = lab
"""Without its types, which would not let a mistake be made."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.run({"queue": {"pi": {}}}), "experiment: must be an Experiment, such as Experiment("),
        (lambda: api.run("pi"), "experiment: must be an Experiment"),
        (lambda: api.compare("pi", experiment={"users": {}}), "experiment: must be an Experiment"),
        (lambda: api.compare("pi", experiment=""), "experiment: must be an Experiment"),
        (lambda: api.run(lab.Experiment(), seed=-1), "seed: must be a whole number from 0 to 2^64 - 1, got -1"),
        (lambda: api.run(lab.Experiment(), seed=2**64), "seed: must be a whole number from 0 to 2^64 - 1, got 1844"),
        (lambda: api.run(lab.Experiment(), seed=1.5), "seed: must be a whole number"),
        (lambda: api.run(lab.Experiment(), seed=True), "seed: must be a whole number"),
        (lambda: api.run(lab.Experiment(), out=5), "out: must be the path of a directory or a URL, got 5"),
        (lambda: api.compare(["pi", "rem"]), "schemes: must each be text, such as compare("),
        (lambda: api.compare("pi", {"rem": {}}), "schemes: must each be text"),
        (lambda: api.compare(), "schemes: must be one at least, such as fq_codel, got none"),
        (lambda: api.compare("pi", seeds=[]), "seeds: must be one at least, got none"),
        (lambda: api.compare("pi", seeds=[1, 2, 1]), "seeds: each must be given once, got 1 more than once"),
        (lambda: api.compare("pi", seeds=3), "seeds: must be several, such as [1, 2, 3], got 3"),
        (lambda: api.compare("pi", seeds="123"), "seeds: must be several"),
        (lambda: api.compare("pi", seeds=[1, -2]), "seed: must be a whole number from 0 to 2^64 - 1, got -2"),
        (lambda: api.run(lab.Experiment(), pcap="run.pcapng"), "pcap: must be a Pcap, such as Pcap("),
        (lambda: api.compare("pi", pcap=True), "pcap: must be a Pcap"),
        (lambda: api.sweep(lab.Grid(), executor=2), "executor: must have the methods of a concurrent.futures.Executor"),
        (lambda: api.tune("pi", "q_ref=5..9", minimise=["p95"], executor=2), "executor: must have"),
        (lambda: api.compare("pi", workers=0), "workers: must be a whole number of at least 1, got 0"),
        (lambda: api.compare("pi", workers="all"), "workers: must be a whole number of at least 1, got 'all'"),
        (lambda: api.compare("pi", out=None), "out: must be the path of a directory or a URL, got None"),
        (lambda: api.Link(rate=5), 'Link.rate: write a unit, such as "100 Mbit/s", got 5'),
        (lambda: api.Link(rat="5 Mbit/s"), "Link.rat: unknown key (did you mean 'rate'?); allowed are rate, "),
        (lambda: api.Link(rate_changes=[{"at": 5}]), 'Link.rate_changes[0].at: write a unit, such as "5 ms", got 5'),
        (lambda: api.Users(load="high"), "Users.load: should be a valid number, got 'high'"),
        (lambda: api.Users(load=9, per_side=9), "Users: write load or per_side, not both"),
        (lambda: api.Tcp(ecn="yes"), "Tcp.ecn: must be one of true, false, "),
        (lambda: api.Hosts(rate=1), "Hosts.rate: write a unit"),
        (lambda: api.Protocol(warmup=1), "Protocol.warmup: write a unit"),
        (lambda: api.Record(losses=1), "Record.losses: should be a valid boolean, got 1"),
        (lambda: api.QueueSpec(green={}), "QueueSpec: no discipline is called 'green'"),
        (lambda: api.QueueSpec(pi={"qref": 2}), "QueueSpec: pi has no parameter 'qref' (did you mean 'q_ref'?)"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line_that_names_it(
    call: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lab.SpecError) as error:
        call()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_what_was_given_is_repeated_in_short() -> None:
    with pytest.raises(lab.SpecError) as error:
        api.run({"sources": list(range(10_000))})
    assert len(str(error.value)) < 200


def test_whole_numbers_of_other_kinds_are_seeds(small: lab.Experiment, tmp_path: Path) -> None:
    brief = small.model_copy(update={"protocol": lab.Protocol(warmup="1 s", duration="1 s")})
    comparison = api.compare("pi", experiment=brief, seeds=np.arange(2, 4), baseline=False, out=tmp_path)
    assert [cell["seed"] for cell in comparison.cells] == [2, 3]
