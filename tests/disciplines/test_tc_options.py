"""Each option of the man page tc-cake(8) is a parameter, or refused by its name with a reason."""

from __future__ import annotations

import pytest

from aqmlab._core import SpecError
from aqmlab.tc import line

OPTIONS = """
    bandwidth unlimited autorate-ingress
    rtt datacentre lan metro regional internet oceanic satellite interplanetary
    besteffort precedence diffserv8 diffserv4 diffserv3
    flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate
    nat nonat wash nowash split-gso no-split-gso ack-filter ack-filter-aggressive no-ack-filter fwmark memlimit
    ptm atm noatm overhead mpu raw conservative ingress egress
    ipoa-vcmux ipoa-llcsnap bridged-vcmux bridged-llcsnap pppoa-vcmux pppoa-llc pppoe-vcmux pppoe-llcsnap
    pppoe-ptm bridged-ptm via-ethernet ethernet ether-vlan docsis
"""
"""The options, and `via-ethernet`, which older versions of `tc` print."""

VALUES = {"bandwidth": "20mbit", "rtt": "80ms", "memlimit": "4Mb", "overhead": "18", "mpu": "64", "fwmark": "0xff"}

REFUSED = {"no-split-gso", "fwmark"}


@pytest.mark.parametrize("option", OPTIONS.split())
def test_each_option_of_cake_is_modelled_or_refused_by_name(option: str) -> None:
    text = f"cake {option} {VALUES.get(option, '')}"
    if option in REFUSED:
        with pytest.raises(SpecError, match=rf"^tc cake: {option}: is not modelled: \w+ \w+"):
            line.scheme(text)
    else:
        assert line.scheme(text).startswith("cake:variant=linux")
