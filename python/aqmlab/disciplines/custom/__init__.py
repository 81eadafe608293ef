"""Custom laws: a class in Python, written ``module:Class`` in place of a discipline's name.

``law`` has the base class. ``registry`` finds a law by its name, ``loader`` imports its file, ``parameters`` checks its
parameters, ``hooks`` its methods, ``source`` hashes its code, and ``errors`` reports its errors.
"""
