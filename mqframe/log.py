"""Logs: events with keys and values, through structlog onto the standard library's `logging`.

structlog is imported for the first event that somebody wants to see: with rich installed the import takes
longer than everything else that a server does before it is ready.

Quiet while all is well, and never silent when something fails: without any configuration warnings and
errors go to standard error, by the handler of last resort of `logging`, which shows the message alone. So the
message holds the event with its keys and values. An application that configures logging, or calls `show` as
the command line does, decides for itself.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from typing import Any

ROOT = "mqframe"


def _as_extra(logger: Any, method: str, event: Any) -> tuple[tuple[str], dict[str, Any]]:
    exc_info = event.pop("exc_info", None)
    text = event.pop("event")
    values = " ".join(f"{key}={value!r}" for key, value in event.items())
    message = f"{text} {values}" if values else str(text)
    return (message,), {"exc_info": exc_info, "extra": {"event": text, "fields": dict(event)}}


class Logger:
    """The logger of one part. Each method takes an event and any keys with values."""

    __slots__ = ("_bound", "_standard")

    def __init__(self, part: str) -> None:
        self._standard = logging.getLogger(f"{ROOT}.{part}")
        self._bound: Any = None

    def debug(self, event: str, **values: Any) -> None:
        """What only helps to find a fault."""
        self._log(logging.DEBUG, event, values)

    def info(self, event: str, **values: Any) -> None:
        """What is worth knowing and expected."""
        self._log(logging.INFO, event, values)

    def warning(self, event: str, **values: Any) -> None:
        """What is not expected, and went on."""
        self._log(logging.WARNING, event, values)

    def error(self, event: str, **values: Any) -> None:
        """What failed."""
        self._log(logging.ERROR, event, values)

    def exception(self, event: str, **values: Any) -> None:
        """What failed, with the exception that is being handled."""
        self._log(logging.ERROR, event, {"exc_info": True, **values})

    def log(self, level: int, event: str, **values: Any) -> None:
        """At a level that is chosen while the program runs, one of `logging`."""
        self._log(level, event, values)

    def _log(self, level: int, event: str, values: dict[str, Any]) -> None:
        if not self._standard.isEnabledFor(level):
            return
        try:
            if self._bound is None:
                import structlog

                self._bound = structlog.wrap_logger(
                    self._standard, processors=[_as_extra], wrapper_class=structlog.stdlib.BoundLogger
                ).bind()
            self._bound.log(level, event, **values)
        except Exception as problem:  # whoever logs has trouble enough, and goes on
            self._log_plainly(level, event, values, problem)

    def _log_plainly(self, level: int, event: str, values: dict[str, Any], problem: Exception) -> None:
        """Log without structlog, which may not have been loaded when no file can be opened any more."""
        try:
            (message,), extra = _as_extra(None, "", {"event": event, **values})
            self._standard.log(level, message, **extra)
        except Exception:
            with contextlib.suppress(Exception):
                sys.stderr.write(f"mqframe: {event} (not logged: {problem})\n")


def get_logger(part: str) -> Logger:
    """The logger of one part, for example "net". Call it as `log.warning("event", key=value)`."""
    return Logger(part)


class _Formatter(logging.Formatter):
    """Renders what `get_logger` recorded, for people or as one JSON object a line."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._renderer: Any = None
        self._stamp: Any = None

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "event": getattr(record, "event", None) or record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        try:
            if self._renderer is None:
                self._prepare()
            return str(self._renderer(None, record.levelname.lower(), self._stamp(None, "", dict(event))))
        except Exception:  # no file can be opened, and what renders is not loaded
            return self._plain(record, event)

    def _plain(self, record: logging.LogRecord, event: dict[str, Any]) -> str:
        self._renderer = None
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        if self._as_json:
            return json.dumps({**event, "timestamp": stamp}, default=repr)
        behind = f"\n{event['exception']}" if "exception" in event else ""
        return f"{stamp} [{event['level']}] {record.getMessage()}{behind}"

    def _prepare(self) -> None:
        import structlog

        if self._as_json:
            self._renderer = structlog.processors.JSONRenderer()
        else:
            self._renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        self._stamp = structlog.processors.TimeStamper(fmt="iso")


def show(*, json: bool = False, level: str = "INFO") -> None:
    """Write the logs of this library to standard error, readable or, with `json`, one object a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(json))
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
