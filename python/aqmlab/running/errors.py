"""The error of live runs, apart from the module that starts them, which is slow to import."""


class LiveError(Exception):
    """The machine does not support a live run, or a run has failed; the message is one line."""
