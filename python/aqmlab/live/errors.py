"""What goes wrong in the live laboratory."""


class LiveError(Exception):
    """The machine does not let a live run happen, or one has ended before its time: one line."""
