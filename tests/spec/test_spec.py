from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab import _core
from aqmlab.disciplines import catalogue, kernel
from aqmlab.spec.experiment import EcnForm

quantities = st.builds("{} {}".format, st.integers(1, 999), st.sampled_from(["ms", "s", "min"]))
ecn = st.sampled_from([False, True, "off", "rfc3168", *get_args(EcnForm)])
links = st.fixed_dictionaries(
    {}, optional={"delay": quantities, "device_fifo": st.integers(0, 1000), "queue": st.just({"codel": {}})}
)
experiments = st.fixed_dictionaries(
    {},
    optional={
        "link": st.one_of(links, st.lists(links, min_size=1)),
        "queue": st.one_of(
            st.fixed_dictionaries({"droptail": st.fixed_dictionaries({"limit": st.integers(1, 10**6)})}),
            st.fixed_dictionaries({"pi": st.fixed_dictionaries({"q_ref": st.integers(1, 10**4)})}),
        ),
        "tcp": st.fixed_dictionaries({}, optional={"ecn": ecn, "initial_rto": quantities}),
        "users": st.one_of(
            st.fixed_dictionaries({"per_side": st.integers(1, 10**6)}),
            st.fixed_dictionaries({"load": st.floats(0.1, 1000)}),
        ),
        "protocol": st.fixed_dictionaries({}, optional={"warmup": quantities, "duration": quantities}),
        "record": st.fixed_dictionaries({}, optional={"queue_every": quantities, "exchanges": st.booleans()}),
    },
)


@given(experiments)
def test_a_spec_survives_its_json_form(parts: dict[str, Any]) -> None:
    experiment = lab.Experiment(**parts)
    assert lab.Experiment.model_validate_json(experiment.to_json()) == experiment


@given(st.text(st.characters(categories=["Ll"]), min_size=1), st.sampled_from(["link", "users", "protocol", "record"]))
def test_an_unknown_key_is_refused_with_its_path(key: str, part: str) -> None:
    fields = getattr(lab, part.capitalize()).model_fields
    if key in fields:
        return
    with pytest.raises(
        lab.SpecError, match=rf"^{part}\.{re.escape(key)}: unknown key( \(did you mean .*\))?; allowed are"
    ):
        lab.Experiment(**{part: {key: 1}})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"linc": {}}, "linc: unknown key (did you mean 'link'?); allowed are testbed, sides, link, queue"),
        ({"link": {"rate": 100}}, 'link.rate: write a unit, such as "100 Mbit/s", got 100'),
        ({"protocol": {"duration": 5400}}, 'protocol.duration: write a unit, such as "5 ms", got 5400'),
        ({"link": {"device_fifo": "64"}}, "link.device_fifo: should be a valid integer, got '64'"),
        (
            {"queue": {"fq_code": {}}},
            "queue: no discipline is called 'fq_code' (did you mean 'fq_codel'?); there are droptail, ",
        ),
        ({"queue": {"pi": {"qref": 24}}}, "queue: pi has no parameter 'qref' (did you mean 'q_ref'?); it has "),
        ({"queue": {}}, "queue: write a table of exactly one queue discipline"),
        ({"queue": {"pi": {}, "rem": {}}}, "queue: write a table of exactly one queue discipline"),
        ({"queue": {"pi": 24}}, "queue: write a table of parameters"),
        (
            {"tcp": {"ecn": "yes"}},
            "tcp.ecn: must be one of true, false, off, rfc3168, ecn+, ecn+/wait, ecn+/try-once, ecn++, dctcp, "
            "accurate, accurate++, got 'yes'",
        ),
        ({"tcp": {"ecn": 1}}, "tcp.ecn: must be one of true, false, "),
        ({"users": {"load": 0}}, "users.load: should be greater than 0, got 0"),
        ({"users": {"load": 1e9}}, "users.load: should be less than or equal to 1000, got 1000000000.0"),
        ({"users": {"load": 98, "per_side": 9330}}, "users: write load or per_side, not both"),
        (
            {"users": 9330},
            "users: must be a table of load, per_side, sides, workload, rtt, delay_at, http3, path, hour, got 9330",
        ),
        ({"users": {"per_side": 1, "path": [1]}}, "users.path[1]: Field required, got [1]"),
        (
            {"link": [{}, {"rat": 1}]},
            "link[1].rat: unknown key (did you mean 'rate'?); allowed are rate, delay, ",
        ),
        ({"link": [{"rate": 50}]}, 'link[0].rate: write a unit, such as "100 Mbit/s", got 50'),
        (
            {"link": [{"queue": {"red": {}, "pi": {}}}]},
            "link[0].queue: write a table of exactly one queue discipline",
        ),
        ({"link": {"rate_changes": [{"at": 5}]}}, 'link.rate_changes[0].at: write a unit, such as "5 ms", got 5'),
        ({"link": {"rate_changes": [{"when": 5}]}}, "link.rate_changes[0]."),
    ],
)
def test_a_mistake_is_one_line_with_path_value_and_allowed(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        lab.Experiment(**parts)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_users_are_many_in_the_papers_testbed_alone() -> None:
    assert lab.Experiment().users.load is None
    assert lab.Experiment(testbed="unc-2003", users={"rtt": "general"}).users.load == 98
    assert lab.Experiment(testbed="unc-2003", users={"per_side": 10}).users.load is None


def test_parts_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        lab.Experiment().links[0].rate = "1 Gbit/s"  # type: ignore[misc]


def test_python_and_the_engine_have_the_same_defaults() -> None:
    bare = {"queue": {"droptail": {}}, "users": {"per_side": 10}}
    experiment = lab.Experiment(users={"per_side": 10})
    assert _core.Resolved(experiment.to_json()).json == _core.Resolved(json.dumps(bare)).json


def test_python_and_the_engine_know_the_same_forms_of_ecn() -> None:
    for form in get_args(EcnForm):
        resolved = json.loads(_core.Resolved(lab.Experiment(tcp={"ecn": form}, users={"per_side": 10}).to_json()).json)
        assert resolved["tcp"]["ecn"] == form
    tcp = {"ecn": "no such form"}
    with pytest.raises(lab.SpecError) as error:
        _core.Resolved(json.dumps({"queue": {"droptail": {}}, "users": {"per_side": 10}, "tcp": tcp}))
    _, _, known = str(error.value).removesuffix(', got "no such form"').partition("one of ")
    assert known.split(", ")[2:] == list(get_args(EcnForm))


def test_resolving_twice_changes_nothing() -> None:
    resolved_text = _core.Resolved(lab.Experiment(users={"per_side": 10}).to_json()).json
    assert _core.Resolved(resolved_text).json == resolved_text


def test_a_toml_file_is_read_and_changed(tmp_path: Path) -> None:
    file = tmp_path / "pi.toml"
    file.write_text('[queue.pi]\nq_ref = 24\n[users]\nload = 98\n[link]\nrate = "10 Mbit/s"\n')
    experiment = lab.Experiment.from_toml(
        file, changes=["queue.pi.q_ref=240", "users.rtt=general", "tcp.ecn=true", 'link.delay="2 ms"']
    )
    assert experiment == lab.Experiment(
        link={"rate": "10 Mbit/s", "delay": "2 ms"},
        queue={"pi": {"q_ref": 240}},
        tcp={"ecn": True},
        users={"load": 98, "rtt": "general"},
    )


@pytest.mark.parametrize("change", ["users", "users.load", "=", "queue.=1", "link.rate.x=1"])
def test_a_change_that_names_no_value_is_refused(tmp_path: Path, change: str) -> None:
    file = tmp_path / "spec.toml"
    file.write_text('[link]\nrate = "10 Mbit/s"\n')
    with pytest.raises(lab.SpecError, match="--set"):
        lab.Experiment.from_toml(file, changes=[change])


def test_the_json_schema_describes_what_a_person_writes() -> None:
    schema = lab.Experiment.model_json_schema()
    queue = schema["$defs"]["Queue"]
    assert list(queue["properties"]) == [*catalogue.disciplines(), kernel.NAME]
    pi = queue["properties"]["pi"]["properties"]
    assert pi["q_ref"]["default"] == 24
    assert (pi["q_ref"]["type"], pi["q_ref"]["minimum"], pi["q_ref"]["unit"]) == ("number", 0, "packets")
    assert [choice["const"] for choice in pi["mode"]["oneOf"]] == ["packet", "byte"]
    assert schema["$defs"]["Link"]["properties"]["rate"]["default"] == "100 Mbit/s"
