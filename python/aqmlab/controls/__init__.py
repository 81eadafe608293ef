"""Custom congestion controls: a class in Python, written ``module:Class`` in place of a built-in control's name.

``control`` has the base class, ``entry`` its checks, and ``registry`` the controls by name.
"""
