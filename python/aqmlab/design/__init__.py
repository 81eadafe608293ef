"""Design rules: the parameters of a discipline for a given link, by published rules.

Each rule is a function from plain numbers to a :class:`Design`: the parameters, intermediate values, and the scheme to
paste after ``aqmlab compare``.
"""

from aqmlab.design.delay import codel
from aqmlab.design.gains import dualpi2, pi
from aqmlab.design.queue_length import ared, droptail
from aqmlab.design.result import Design, Value, packets_per_sec

__all__ = ["Design", "Value", "ared", "codel", "droptail", "dualpi2", "packets_per_sec", "pi"]
