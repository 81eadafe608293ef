"""What went wrong in a law of the user's own, in one line that names its file."""

from __future__ import annotations

import inspect
import traceback

from aqmlab.law import Law


class LawError(Exception):
    """A law of your own raised an exception or answered what is no answer: ``file:line: what``.

    The exception that was raised is the ``__cause__``.
    """


def raised(law: type, method: str, error: BaseException) -> BaseException:
    """Return the error that says where ``law`` raised ``error``; what is no mistake, such as Ctrl-C, as it is."""
    if not isinstance(error, Exception):
        return error
    file, line = _place(law, method)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f"{file}:{frames[-1].lineno if frames else line}"
    return _caused(f"{where}: {law.__name__}.{method}: {_said(error)}", error)


def not_imported(file: str, error: BaseException) -> LawError:
    """Return the error that says where the module in ``file`` raised ``error`` on its way in."""
    if isinstance(error, SyntaxError):
        return _caused(f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}", error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return _caused(f"{file}:{lines[-1] if lines else 1}: {_said(error)}", error)


def nonsense(law: type, method: str, must: str, got: object) -> LawError:
    """Return the error that says what ``method`` must do, and what it did instead."""
    file, line = _place(law, method)
    return LawError(f"{file}:{line}: {law.__name__}.{method} {must}, got {got!r}")


def _place(law: type, method: str) -> tuple[str, int]:
    """Where the method begins; where the class does when it has none of its own."""
    own = getattr(law, method, None)
    code = getattr(own, "__code__", None)
    if code is not None and own is not getattr(Law, method, None):
        return code.co_filename, code.co_firstlineno
    try:
        return inspect.getfile(law), inspect.getsourcelines(law)[1]
    except (OSError, TypeError):
        return law.__module__, 0


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _caused(text: str, cause: BaseException) -> LawError:
    error = LawError(text)
    error.__cause__ = cause
    return error
