"""``aqmlab doctor --profile``: a kernel's own words as a table of a spec."""

from __future__ import annotations

import json
import struct
import sys
import tomllib
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.live import profile
from conftest import Command

LINUX_6 = {
    "tcp_rmem": "4096\t131072\t33554432",
    "tcp_wmem": "4096\t16384\t4194304",
    "tcp_moderate_rcvbuf": "1",
    "tcp_window_scaling": "1",
    "tcp_timestamps": "1",
    "tcp_sack": "1",
    "tcp_recovery": "1",
    "tcp_frto": "2",
    "tcp_rto_min_us": "200000",
    "tcp_rto_max_ms": "120000",
    "tcp_syn_retries": "6",
    "tcp_syn_linear_timeouts": "4",
    "tcp_synack_retries": "5",
    "tcp_retries2": "15",
    "tcp_slow_start_after_idle": "1",
    "tcp_ecn": "2",
    "tcp_ecn_fallback": "1",
    "tcp_congestion_control": "cubic",
}
"""The defaults of such a kernel (ip-sysctl of its documentation)."""


def info(rto_us: int = 1_000_000, window: int = 10) -> bytes:
    """Make ``struct tcp_info``: eight bytes, then numbers, of which the first and the nineteenth matter."""
    return bytes(8) + struct.pack("=19I", rto_us, *[0] * 17, window) + bytes(100)


def resolved(tcp: dict[str, Any]) -> dict[str, Any]:
    (cell,) = cells_of(lab.Experiment(users={"per_side": 1}, tcp=tcp), [1])
    table: dict[str, Any] = cell.resolved["tcp"]
    return {name: value for name, value in table.items() if name != "profile"}


def test_a_kernel_with_the_settings_of_linux_6_is_that_profile() -> None:
    assert resolved(profile.table(LINUX_6.get, info())) == resolved({"profile": "linux-6"})


@pytest.mark.parametrize(
    ("setting", "value", "name", "expected"),
    [
        ("tcp_rmem", "4096 131072 1048576", "receive_window", 1_048_576),
        ("tcp_wmem", "4096 16384 1048576", "send_buffer", 1_048_576),
        ("tcp_moderate_rcvbuf", "0", "receive_window_tuning", False),
        ("tcp_sack", "0", "sack", False),
        ("tcp_frto", "0", "frto", False),
        ("tcp_rto_min_us", "5000", "min_rto", "5000 us"),
        ("tcp_syn_linear_timeouts", "0", "syn_backoff", [1, 2, 4, 8, 16, 32, 64]),
        ("tcp_syn_linear_timeouts", "0", "connect_timeout", "127 s"),
        ("tcp_ecn", "1", "ecn", True),
        ("tcp_ecn", "3", "ecn", "accurate"),
        ("tcp_congestion_control", "reno", "congestion", "reno"),
    ],
)
def test_another_setting_is_another_value(setting: str, value: str, name: str, expected: object) -> None:
    assert profile.table({**LINUX_6, setting: value}.get, info())[name] == expected


def test_a_profile_omits_what_the_kernel_does_not_report() -> None:
    table = profile.table(lambda _: None, info(rto_us=3_000_000, window=2))
    assert table == {"profile": "linux-6", "initial_window": 2, "initial_rto": "3 s"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says it so")
def test_this_machines_table_is_one_that_a_spec_takes(aqmlab: Command) -> None:
    outcome = aqmlab("doctor", "--profile")
    assert outcome.code == 0
    table = tomllib.loads(outcome.out)["tcp"]
    assert table["profile"] == "linux-6"
    known = {"reno", "cubic", "dctcp", "highspeed", "bbr"}
    usable = {**table, "congestion": table["congestion"] if table["congestion"] in known else "cubic"}
    assert resolved(usable)["initial_window"] == table["initial_window"]
    assert json.loads(aqmlab("doctor", "--profile", "--json").out) == {"tcp": table}
