from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core, design
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.spec import schemes
from conftest import Command

HOLLOT = {"packets_per_sec": 3750.0, "flows": 60.0}
"""The link for which Hollot et al. (2001) designed PI."""

DESIGNS = [
    design.ared(packets_per_sec=24_000),
    design.pi(**HOLLOT, rtt_max_s=0.246),
    design.dualpi2(),
    design.codel(bits_per_sec=100e6),
    design.droptail(packets_per_sec=24_000, rtt_s=0.1, flows=400),
]


def value(result: design.Design, name: str) -> float:
    (number,) = [value.value for value in (*result.parameters, *result.follows_from) if value.name == name]
    return number


@pytest.mark.parametrize("result", DESIGNS, ids=lambda result: result.discipline)
def test_a_designed_scheme_is_one_that_the_engine_takes(result: design.Design) -> None:
    if result.discipline not in disciplines():
        pytest.skip("there is no such discipline yet")
    scheme = schemes.parse(result.scheme)
    _core.Resolved(scheme.apply_to(lab.Experiment(users={"per_side": 1})).to_json())
    assert scheme.queue.parameters.keys() == {parameter.name for parameter in result.parameters}


@pytest.mark.parametrize("sampling_hz", [160, 170])
def test_pi_at_the_published_crossover_has_the_published_gains(sampling_hz: float) -> None:
    # K = 9.64e-6 and z = 0.53 cross over at 0.52 rad/s on this link; ns-2 has the gains with four digits.
    design_result = design.pi(**HOLLOT, rtt_max_s=0.246, crossover=0.5202, sampling_hz=sampling_hz)
    assert f"{value(design_result, 'a'):.3e}" == "1.822e-05"
    assert f"{value(design_result, 'b'):.3e}" == "1.816e-05"


def test_pi_at_its_default_crossover_has_the_published_design() -> None:
    # 200 ms of propagation and 175 packets of queue: the operating point that is rounded to R = 0.246 s.
    design_result = design.pi(**HOLLOT, rtt_max_s=0.2 + 175 / 3750)
    assert value(design_result, "K") == pytest.approx(9.64e-6, rel=0.002)
    assert value(design_result, "z") == pytest.approx(0.53, abs=0.005)
    assert value(design_result, "a") == pytest.approx(1.822e-5, rel=0.01)
    assert value(design_result, "b") == pytest.approx(1.816e-5, rel=0.01)


def test_a_and_b_are_the_trapezoidal_rule_for_pi() -> None:
    design_result = design.pi(**HOLLOT, rtt_max_s=0.246, sampling_hz=200)
    k, z = value(design_result, "K"), value(design_result, "z")
    # p(t) = K (e / z + the integral of e) for e = t^2 at two samples 5 ms apart
    t0, t1 = 1.0, 1.005
    exact = k * ((t1**2 - t0**2) / z + (t1**3 - t0**3) / 3)
    assert value(design_result, "a") * t1**2 - value(design_result, "b") * t0**2 == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("delay_ms", [1, 5, 20])
def test_ared_is_what_the_engine_derives_for_the_same_link(delay_ms: int) -> None:
    queue = {"ared": {"target_delay": f"{delay_ms} ms"}}
    resolved = json.loads(_core.Resolved(lab.Experiment(queue=queue, users={"per_side": 1}).to_json()).json)["queue"][
        "ared"
    ]
    capacity = design.packets_per_sec(bits_per_sec=100e6)
    design_result = design.ared(packets_per_sec=capacity, target_delay_s=delay_ms / 1000)
    for parameter in design_result.parameters:
        assert resolved[parameter.name] == pytest.approx(parameter.value, rel=1e-9)


def test_a_slow_link_keeps_the_least_thresholds() -> None:
    assert design.ared(packets_per_sec=100).scheme.startswith("ared:min_th=5,max_th=15,")


@pytest.mark.parametrize(("rtt_max_s", "t_update_s"), [(0.1, 0.015), (0.03, 0.01), (1.0, 0.015)])
def test_dualpi2_samples_three_times_in_a_short_round_trip(rtt_max_s: float, t_update_s: float) -> None:
    design_result = design.dualpi2(rtt_max_s=rtt_max_s)
    assert value(design_result, "t_update") == pytest.approx(t_update_s)
    assert value(design_result, "alpha") == pytest.approx(0.1 * t_update_s / rtt_max_s**2)
    assert value(design_result, "beta") == pytest.approx(0.3 / rtt_max_s)


def test_codels_rule_gives_its_defaults_or_one_mtu_if_slow() -> None:
    defaults = {parameter.name: parameter.default for parameter in disciplines()["codel"].parameters}
    design_result = design.codel(bits_per_sec=100e6)
    assert {row.name: row.text for row in design_result.parameters} == {
        name: str(defaults[name]).replace(" ", "") for name in ("interval", "target")
    }
    # 1538 bytes take 24.6 ms at 500 kbit/s, and less than 5 % of 100 ms from 2.46 Mbit/s on.
    assert value(design.codel(bits_per_sec=500e3), "target") == pytest.approx(0.024608)
    assert value(design.codel(bits_per_sec=2.47e6), "target") == pytest.approx(0.005)
    assert value(design.codel(bits_per_sec=100e6, rtt_max_s=0.6), "target") == pytest.approx(0.03)


@pytest.mark.parametrize(("flows", "limit"), [(1, 24_000_000), (100, 2_400_000), (1e16, 1)])
def test_a_buffer_shrinks_with_the_root_of_the_flows(flows: float, limit: int) -> None:
    design_result = design.droptail(packets_per_sec=24e6, rtt_s=1.0, flows=flows)
    assert design_result.scheme == f"droptail:limit={limit}"


@pytest.mark.parametrize("flows", [0.0, math.nan, math.inf])
def test_a_buffer_is_for_one_flow_at_least(flows: float) -> None:
    with pytest.raises(ValueError, match=r"^flows: must be at least 1, got "):
        design.droptail(packets_per_sec=24_000, rtt_s=0.1, flows=flows)


def test_a_scheme_keeps_a_above_b() -> None:
    # The two differ by K T, a small part of either.
    design_result = design.pi(packets_per_sec=1e6, flows=100, rtt_max_s=0.5, sampling_hz=1000)
    parameters = schemes.parse(design_result.scheme).queue.parameters
    assert parameters["a"] - parameters["b"] == pytest.approx(value(design_result, "K") / 1000, rel=0.01)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"packets_per_sec": 0.0}, "packets_per_sec"),
        ({"flows": math.nan}, "flows"),
        ({"flows": 1000.0}, "flows"),
        ({"rtt_max_s": 0.0}, "rtt_max"),
        ({"crossover": 0.0}, "crossover"),
        ({"crossover": 4.0}, "crossover"),
        ({"sampling_hz": 0.1}, "sampling_hz"),
        ({"sampling_hz": math.inf}, "sampling_hz"),
    ],
)
def test_pi_refuses_what_would_not_be_stable_or_is_none(wrong: dict[str, float], field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must be .*, got "):
        design.pi(**{**HOLLOT, "rtt_max_s": 0.246, **wrong})


def test_a_crossover_without_phase_margin_is_refused() -> None:
    margins = design.pi(**HOLLOT, rtt_max_s=0.246, crossover=0.8603 / 0.246).margins
    assert margins is not None
    assert 0 < margins.phase_margin_deg < 0.01
    with pytest.raises(ValueError, match=r"crossover: must be above 0 and below 3\.497 rad/s"):
        design.pi(**HOLLOT, rtt_max_s=0.246, crossover=0.8604 / 0.246)


PI = ("design", "pi", "--rate", "100 Mbit/s", "--flows", "400", "--rtt-max", "200 ms")


@pytest.mark.parametrize(
    "command",
    [
        PI,
        ("design", "ared", "--rate", "100 Mbit/s", "--target-delay", "5 ms"),
        ("design", "dualpi2"),
        ("design", "codel", "--rate", "1 Mbit/s"),
        ("design", "droptail", "--rate", "100 Mbit/s", "--rtt", "100 ms", "--flows", "400"),
    ],
    ids=lambda command: command[1],
)
def test_a_design_is_printed_as_table_and_scheme_or_as_json(
    aqmlab: Command, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    record: dict[str, Any] = json.loads(aqmlab(*command, "--json").out)
    assert record.keys() == {"discipline", "scheme", "parameters", "follows_from", "margins"}
    assert record["discipline"] == command[1]
    output = aqmlab(*command).out
    assert output.splitlines()[-1] == record["scheme"]
    for row in (*record["parameters"], *record["follows_from"]):
        assert any(row["rule"] in line and row["source"] in line for line in output.splitlines())
    assert ("phase margin" in output) == (record["margins"] is not None)


@pytest.mark.parametrize("name", ["loop.svg", "loop.png", "loop.pdf"])
def test_a_figure_of_pis_loop_is_written_in_the_form_of_its_name(aqmlab: Command, name: str) -> None:
    assert aqmlab(*PI, "--figure", f"first-{name}").code == 0
    assert aqmlab(*PI, "--figure", f"again-{name}").code == 0
    first, second = Path(f"first-{name}").read_bytes(), Path(f"again-{name}").read_bytes()
    assert first == second
    assert first[:4] in (b"<?xm", b"\x89PNG", b"%PDF")
