"""Variants: a scheme with changes of the spec, compared like a scheme.

A variant is typed as ``dualpi2 + tcp.congestion=prague + tcp.ecn=accurate``, or it is a table of a spec,
``variants.NAME``, whose keys are those of a spec and ``scheme``.
"""
