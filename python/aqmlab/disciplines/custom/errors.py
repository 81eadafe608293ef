"""Errors in a custom law or congestion control, as one line that names its file."""

from __future__ import annotations

import inspect
import sys
import traceback
from types import FrameType

from aqmlab.disciplines.custom.base import CustomClass


class LawError(Exception):
    """A custom law or congestion control raised an exception or gave an invalid value: ``file:line: message``.

    The exception of the class is the ``__cause__``.
    """


class Ended(BaseException):
    """Interrupts a call of a custom class. Not an ``Exception``, because its methods may catch all of those."""


CONTROL_EXCEPTIONS = (KeyboardInterrupt, Ended)
"""The exceptions that end a call of a custom class without a mistake of the class."""


def raised(custom: type, method: str, error: BaseException) -> BaseException:
    """Return the error with the place where ``custom`` raised it; exceptions that are no mistake stay unchanged."""
    if isinstance(error, CONTROL_EXCEPTIONS):
        return error
    file, line = _position(custom, method)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    position = f"{file}:{frames[-1].lineno if frames else line}"
    return _with_cause(f"{position}: {custom.__name__}.{method}: {_error_text(error)}", error)


def import_error(file: str, error: BaseException) -> LawError:
    """Return the error with the place where the import of ``file`` raised ``error``."""
    if isinstance(error, SyntaxError):
        return _with_cause(f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}", error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return _with_cause(f"{file}:{lines[-1] if lines else 1}: {_error_text(error)}", error)


def nonsense(custom: type, method: str, must: str, got: object) -> LawError:
    """Return the error about an invalid value that ``method`` returned or left, with the accepted values."""
    file, line = _position(custom, method)
    return LawError(f"{file}:{line}: {custom.__name__}.{method} {must}, got {_repr_text(got)}")


def current_call(thread: int) -> FrameType | None:
    """Return the outermost call of a custom class in a thread, which the engine made; ``None`` without one."""
    call = None
    frame = sys._current_frames().get(thread)
    while frame is not None:
        arguments = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        if arguments and isinstance(frame.f_locals.get(arguments[0]), CustomClass):
            call = frame
        frame = frame.f_back
    return call


def unfinished(call: FrameType) -> str:
    """Return a message about a call of a custom class that does not return."""
    code = call.f_code
    custom = type(call.f_locals[code.co_varnames[0]])
    return f"{code.co_filename}:{call.f_lineno}: {custom.__name__}.{code.co_name} does not return"


def _position(custom: type, method: str) -> tuple[str, int]:
    """Return the first line of a method, or of the class if it inherits the method from aqmlab."""
    function = getattr(custom, method, None)
    code = getattr(function, "__code__", None)
    if code is not None and not function.__module__.startswith("aqmlab."):
        return code.co_filename, code.co_firstlineno
    try:
        return inspect.getfile(custom), inspect.getsourcelines(custom)[1]
    except (OSError, TypeError):
        return custom.__module__, 0


def _error_text(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        return " ".join(f"{kind}: {error}".split())
    except Exception:
        return f"{kind}, which cannot say what it is"


def _repr_text(value: object) -> str:
    try:
        return " ".join(repr(value).split())
    except Exception:
        return f"something of the class {type(value).__name__}"


def _with_cause(text: str, cause: BaseException) -> LawError:
    error = LawError(text)
    error.__cause__ = cause
    return error
