"""The base class of everything that a user may write as a class in Python."""


class CustomClass:
    """The base of custom laws and congestion controls, which the engine calls."""
