"""Custom laws: a class in Python stands wherever a discipline's name may, as ``module:Class``.

``law`` is their base class. ``laws`` finds one by its name, ``modules`` reads the file it is in, ``parameters`` checks
what it is configured with, ``source`` is the hash of one in a notebook, and ``errors`` says what went wrong in one.
"""
