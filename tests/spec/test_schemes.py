from __future__ import annotations

from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.spec import schemes
from aqmlab.spec.experiment import EcnForm


def test_a_bare_name_leaves_everything_at_its_default() -> None:
    scheme = schemes.parse("pi")
    assert scheme.queue == lab.QueueSpec.model_validate({"pi": {}})
    assert scheme.ecn is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("24", 24), ("1/8192", 1 / 8192), ("0.5", 0.5), (".5", 0.5), ("1e-5", 1e-5), ("byte", "byte"), ("5 ms", "5 ms")],
)
def test_a_value_is_read_as_what_it_looks_like(text: str, value: object) -> None:
    given = schemes.parse(f"ared:w_q={text}").queue.parameters["w_q"]
    assert (given, type(given)) == (value, type(value))


def test_ecn_goes_to_the_hosts() -> None:
    experiment = schemes.parse("rem:q_ref=24,ecn=true").apply_to(lab.Experiment())
    assert experiment.tcp.ecn
    assert experiment.queue.parameters == {"q_ref": 24}


@pytest.mark.parametrize("form", get_args(EcnForm))
def test_a_form_of_ecn_goes_to_the_hosts_by_its_name(form: EcnForm) -> None:
    scheme = schemes.parse(f"pi:ecn={form}")
    assert scheme.apply_to(lab.Experiment()).tcp.ecn == form
    assert schemes.label(scheme.queue, ecn=form) == f"pi:ecn={form}"


@pytest.mark.parametrize(("name", "switch"), [("off", False), ("rfc3168", True)])
def test_what_a_switch_says_may_be_said_by_name(name: str, switch: bool) -> None:
    assert schemes.parse(f"pi:ecn={name}").ecn is switch


def test_a_scheme_without_ecn_leaves_it_to_the_experiment() -> None:
    ecn = lab.Experiment(tcp={"ecn": True})
    assert schemes.parse("rem").apply_to(ecn).tcp.ecn
    assert not schemes.parse("rem:ecn=false").apply_to(ecn).tcp.ecn


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "fq_code",
            "fq_code: no discipline is called 'fq_code' (did you mean 'fq_codel'?); there are droptail, scripted, red",
        ),
        ("pfifo", "pfifo: no discipline is called 'pfifo' (did you mean 'droptail'?); there are"),
        ("home.tom", "home.tom: no discipline is called 'home.tom' (the name of a spec must end in .toml); there are"),
        ("", ": no discipline is called ''; there are droptail"),
        ("pi:qref=24", "pi:qref=24: pi has no parameter 'qref' (did you mean 'q_ref'?); it has "),
        ("pi:q_ref", "pi:q_ref: write key=value, got 'q_ref'"),
        ("pi:", "pi:: write key=value, got ''"),
        ("pi:q_ref=", "pi:q_ref=: write key=value, got 'q_ref='"),
        ("pi:q_ref=1,q_ref=2", "pi:q_ref=1,q_ref=2: q_ref is given twice"),
        ("pi:ecn=1", "pi:ecn=1: ecn must be one of true, false, "),
        ("pi:ecn=maybe", "pi:ecn=maybe: ecn must be one of true, false, off, rfc3168, ecn+, "),
    ],
)
def test_a_mistake_says_what_there_is(text: str, message: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        schemes.parse(text)
    assert str(error.value).startswith(message)


@given(st.text())
def test_no_text_is_anything_but_a_scheme_or_a_clear_refusal(text: str) -> None:
    with suppress(lab.SpecError):
        assert schemes.parse(text).label == text


@given(
    st.sampled_from(["pi", "rem"]),
    st.dictionaries(
        st.sampled_from(["q_ref", "mode", "limit"]),
        st.one_of(st.integers(), st.floats(0, 1), st.sampled_from(["byte", "packet"])),
    ),
    st.sampled_from([False, True, *get_args(EcnForm)]),
)
def test_a_label_reads_back_as_its_scheme(name: str, parameters: dict[str, object], ecn: bool | EcnForm) -> None:
    queue = lab.QueueSpec.model_validate({name: parameters})
    scheme = schemes.parse(schemes.label(queue, ecn=ecn))
    assert (scheme.queue, scheme.ecn or False) == (queue, ecn)
