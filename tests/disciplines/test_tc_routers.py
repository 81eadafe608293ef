"""Settings of routers that are no discipline: lines of ``netem``, and OpenWrt's file of SQM."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from aqmlab._core import SpecError
from aqmlab.spec import schemes
from aqmlab.tc import line, netem
from conftest import Command
from laws.comparisons import COMPARISONS

LOSSES = [comparison for comparison in COMPARISONS if comparison.tc.startswith("netem")]


@pytest.mark.parametrize("comparison", LOSSES, ids=lambda comparison: comparison.name)
def test_losses_of_netem_are_those_that_the_kernel_agrees_with(comparison: Any) -> None:
    limit, keys = netem.settings(comparison.tc.split()[1:])
    assert {"limit": f"{limit} packets"} == comparison.parameters
    assert keys == {"link.loss": comparison.loss}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "netem delay 40ms loss 1%",
            "is the link behind a queue: write the scheme droptail:limit=1000 --set 'link.delay=\"40 ms\"'"
            " --set 'link.loss=0.01'",
        ),
        (
            "netem limit 50 duplicate 2%",
            "is the link behind a queue: write the scheme droptail:limit=50 --set 'link.dup",
        ),
        ("netem delay 40ms 5ms", "delay with jitter that changes the order of packets: is not modelled, got 5ms"),
        ("netem loss 1% 25%", "loss with correlation: is not modelled, got 25%"),
        ("netem rate 5mbit", "rate: is not modelled: write link.rate and link.overhead"),
        ("netem loss gemodel", "loss: needs a value after it"),
        ("netem dealy 5ms", "dealy: is no option of netem"),
    ],
)
def test_netem_is_refused_with_the_keys_of_the_link(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        line.scheme(text)
    assert str(error.value).startswith(f"tc netem: {message}")


SQM = """
# A home on cable.
config queue 'eth1'
\toption enabled '1'
\toption interface 'wan'
\toption download '85000'
\toption upload '10000'
\toption qdisc 'cake'
\toption script 'piece_of_cake.qos'
\toption linklayer 'ethernet'
\toption overhead '22'
\toption eqdisc_opts 'dual-srchost ack-filter'
\toption iqdisc_opts 'dual-dsthost ingress'

config queue
\toption enabled '0'
\toption interface 'lan'
"""


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "sqm"
    file.write_text(text)
    return str(file)


def test_a_file_of_sqm_is_a_discipline_for_each_direction(tmp_path: Path) -> None:
    upload, _, download = line.scheme(written(tmp_path, SQM)).partition(" + queue_back=")
    assert upload == line.scheme("cake bandwidth 10000kbit overhead 22 mpu 0 besteffort nat dual-srchost ack-filter")
    shaped = line.scheme("cake bandwidth 85000kbit overhead 22 mpu 0 besteffort nat wash dual-dsthost ingress")
    expected = schemes.parse(shaped).queue.model_dump()
    assert tomllib.loads(f"value = {download}")["value"] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("piece_of_cake", "simple"), "sqm: script: simple.qos: is not modelled: shapes with HTB: set link.rate"),
        (("'85000'", "'0'"), "sqm: download: expected a rate in kbit/s such as 20000; 0 leaves the direction to the"),
        (("enabled '1'", "enabled '0'"), "sqm: needs one section with enabled 1, got 0 of 2"),
        (
            ("option overhead", "option overheat"),
            "sqm, line 11: overheat: is no option of sqm that is modelled (did you",
        ),
        (("config queue\n", "config host\n"), "sqm, line 15: expected config queue or option, got 'config host'"),
        (("dual-srchost", "dual-src"), "tc cake: dual-src: is no option of cake (did you mean 'dual-srchost'?)"),
    ],
)
def test_settings_that_are_not_modelled_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(SpecError) as error:
        line.scheme(written(tmp_path, SQM.replace(*change, 1)))
    assert str(error.value).removeprefix(f"{tmp_path}/").startswith(message)


def test_compare_takes_a_file_of_sqm(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text('users.per_side = 2\nprotocol = {warmup = "1 s", duration = "2 s"}')
    given = ["compare", str(tmp_path / "small.toml"), "--seeds", "1", "--no-figures", "--out", str(tmp_path / "out")]
    outcome = aqmlab(*given, "--tc", written(tmp_path, SQM), "--json")
    assert outcome.code == 0, outcome.err
    assert "bandwidth=10 Mbit/s" in outcome.out


def test_a_line_longer_than_a_files_name_is_a_line() -> None:
    options = " ".join(["overhead 0/0"] * 40)
    with pytest.raises(SpecError, match=r"^tc cake: overhead: .* got 0/0$"):
        line.scheme(f"cake {options}")
