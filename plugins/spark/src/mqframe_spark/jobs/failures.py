"""What Spark says when something failed, in one line, as an error of `mqframe.core.errors`.

A failure of Python code, in a task or in a planner, comes from Spark as a text that holds the whole
traceback, often inside another one. What the user has to read is the last line of it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

from mqframe.core.errors import FixError, GiveUpError, MqframeError, RetryError

LINE_CHARS_MAX: Final = 1000
_OURS: Final = re.compile(r"^(mqframe[\w.]*)\.(\w+): (.+)$", re.MULTILINE)
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_JAVA: Final = re.compile(r"^An error occurred while calling \S+\s*:?\s*", re.DOTALL)
_CLASS: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)?: ")
_STREAM: Final = re.compile(r"^\[STREAM_FAILED\] Query .*? terminated with exception: ", re.DOTALL)
_WHERE: Final = re.compile(r'^  File "([^"]+)", line (\d+)', re.MULTILINE)
_TRACE: Final = "Traceback (most recent call last):"
# What the user can change: the query, its columns, its options.
_TO_FIX: Final = (
    "PySparkAttributeError",
    "PySparkTypeError",
    "PySparkValueError",
    "AnalysisException",
    "ParseException",
    "IllegalArgumentException",
    "SparkClassNotFoundException",
)


def told(text: str) -> str:
    """The one line of Spark's `text` that says what went wrong."""
    ours = _OURS.findall(text)
    if ours:
        return _short(ours[-1][2])
    if _TRACE in text:
        return _short(_of_traceback(text))
    text = _STREAM.sub("", _JAVA.sub("", text.strip()).strip())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _short(_CLASS.sub("", lines[0])) if lines else "Spark gave no reason"


def error_of(text: str, kind: str = "") -> MqframeError:
    """An error for Spark's `text`, of the class that tells what to do. `kind`: name of Spark's exception."""
    line = told(text)
    ours = _OURS.findall(text)
    if ours:
        return _class_of(*ours[-1][:2])(line)
    if kind in _TO_FIX or any(f"{name}: " in text.partition("\n\tat ")[0] for name in _TO_FIX):
        return FixError(line)
    return GiveUpError(line)


def spark_exceptions() -> tuple[type[Exception], ...]:
    """What Spark raises."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError)


@contextmanager
def spark_errors(what: str = "") -> Iterator[None]:
    """Within it, Spark's errors are raised as those of mqframe; `what`, if given, stands before the line."""
    from pyspark.logger import PySparkLogger

    # It would write the same, with Java's stack, to standard error.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    try:
        yield
    except spark_exceptions() as problem:
        made = error_of(str(problem), _kind(problem))
        raise (type(made)(f"{what}: {made}") if what else made) from problem


def cause_of(problem: BaseException) -> str:
    """One line for an exception of a user's code: what it is, and where in that code it came up."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"SyntaxError: {problem.msg} ({Path(problem.filename).name}, line {problem.lineno})"
    said = next(iter(str(problem).splitlines()), "")
    line = f"{type(problem).__name__}: {said}" if said else type(problem).__name__
    frames = [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if not {"site-packages", "pyspark", "importlib", "mqframe_spark"} & set(Path(frame.filename).parts)
        and not frame.filename.startswith("<")
    ]
    return _short(f"{line} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else line)


def _kind(problem: Exception) -> str:
    # The streaming exception wraps one of any other kind.
    name = type(problem).__name__
    return "" if name == "StreamingQueryException" else name


def _class_of(module: str, name: str) -> type[MqframeError]:
    """The class among Retry, Fix and GiveUp that stands for the named one."""
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return GiveUpError
    for kind in (RetryError, FixError):
        if isinstance(found, type) and issubclass(found, kind):
            return kind
    return GiveUpError


def _of_traceback(text: str) -> str:
    """The exception of the last traceback in `text`, and where outside of Spark it was raised."""
    trace = text.rpartition(_TRACE)[2]
    raised = next((line for line in trace.splitlines()[1:] if line.strip() and not line[0].isspace()), "")
    places = [
        (Path(path).name, number)
        for path, number in _WHERE.findall(trace)
        if "pyspark" not in Path(path).parts
    ]
    line = _STATE.sub("", raised).strip() or "an exception without a name"
    return f"{line} ({places[-1][0]}, line {places[-1][1]})" if places else line


def _short(line: str) -> str:
    line = _STATE.sub("", line).strip().rstrip(";").strip()
    return line if len(line) <= LINE_CHARS_MAX else f"{line[:LINE_CHARS_MAX]}…"
