"""Custom laws: a class in Python, written ``module:Class`` in place of a discipline's name.

``law`` has the base class, ``entry`` its checks, and ``registry`` the laws by name. The other modules are for custom
classes of any kind, also congestion controls: ``finder`` finds one by its name, ``loader`` imports its file,
``parameters`` checks its parameters, ``hooks`` its methods, ``source`` hashes its code, and ``errors`` reports errors.
"""
