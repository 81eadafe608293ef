"""Variants: a scheme with changes of the spec, compared like a scheme.

A variant is typed as ``dualpi2 + tcp.congestion=prague + tcp.ecn=accurate``, or is a table ``variants.NAME`` of a spec
with the keys of a spec and ``scheme``.
"""
