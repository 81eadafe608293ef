"""Each option of the man pages tc-cake(8) and tc-fq(8) is a parameter, or refused by its name with a reason."""

from __future__ import annotations

import pytest

from aqmlab._core import SpecError
from aqmlab.tc import line

CAKE = """
    bandwidth unlimited autorate-ingress
    rtt datacentre lan metro regional internet oceanic satellite interplanetary
    besteffort precedence diffserv8 diffserv4 diffserv3
    flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate
    nat nonat wash nowash split-gso no-split-gso ack-filter ack-filter-aggressive no-ack-filter fwmark memlimit
    ptm atm noatm overhead mpu raw conservative ingress egress
    ipoa-vcmux ipoa-llcsnap bridged-vcmux bridged-llcsnap pppoa-vcmux pppoa-llc pppoe-vcmux pppoe-llcsnap
    pppoe-ptm bridged-ptm via-ethernet ethernet ether-vlan docsis
"""
"""The options of tc-cake(8), and `via-ethernet`, which older versions of `tc` print."""

FQ = """
    limit flow_limit quantum initial_quantum buckets orphan_mask ce_threshold refill_delay
    maxrate defrate low_rate_threshold pacing nopacing timer_slack horizon horizon_cap horizon_drop offload_horizon
    bands priomap weights
"""
"""The options of tc-fq(8), with those of Linux 6.14."""

VALUES = {
    "cake": {"bandwidth": "20mbit", "rtt": "80ms", "memlimit": "4Mb", "overhead": "18", "mpu": "64", "fwmark": "0xff"},
    "fq": {
        **dict.fromkeys(("limit", "flow_limit", "buckets", "orphan_mask"), "200"),
        **dict.fromkeys(("quantum", "initial_quantum"), "3000"),
        **dict.fromkeys(("ce_threshold", "refill_delay", "horizon", "offload_horizon", "timer_slack"), "4ms"),
        **dict.fromkeys(("maxrate", "defrate", "low_rate_threshold"), "1mbit"),
    },
}

REFUSED = {
    "cake": {"no-split-gso", "fwmark"},
    "fq": {
        *("buckets", "maxrate", "defrate", "low_rate_threshold", "nopacing", "timer_slack"),
        *("horizon", "horizon_cap", "offload_horizon", "bands", "priomap", "weights"),
    },
}


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, options in (("cake", CAKE), ("fq", FQ)) for option in options.split()]
)
def test_each_option_is_modelled_or_refused_by_name(name: str, option: str) -> None:
    text = f"{name} {option} {VALUES[name].get(option, '')}"
    if option in REFUSED[name]:
        with pytest.raises(SpecError, match=rf"^tc {name}: {option}: is not modelled: \w+ \w+"):
            line.scheme(text)
    else:
        assert line.scheme(text).partition(":")[0] == name


def test_the_output_of_tc_for_a_default_fq_is_a_default_fq() -> None:
    shown = (
        "qdisc fq 8001: dev eth0 root refcnt 2 limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 bands 3"
        " priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536 quantum 3028b initial_quantum 15140b"
        " low_rate_threshold 550Kbit refill_delay 40ms timer_slack 10us horizon 10s horizon_drop"
    )
    assert line.scheme(shown) == "fq"
