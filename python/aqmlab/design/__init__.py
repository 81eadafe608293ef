"""Parameters by published rules: what a discipline should be set to on a given link, and why.

Each rule is a function from plain numbers to a :class:`Design`: the parameters, what they follow from, and the scheme
to paste behind ``aqmlab compare``.
"""

from aqmlab.design.delay import codel
from aqmlab.design.gains import dualpi2, pi
from aqmlab.design.queue_length import ared, droptail
from aqmlab.design.result import Design, Value, packets_per_sec

__all__ = ["Design", "Value", "ared", "codel", "droptail", "dualpi2", "packets_per_sec", "pi"]
