"""Logs: events with keys and values, through structlog onto the standard library's `logging`.

Quiet by default, as a library should be: nothing is shown until an application adds a handler to the logger
`mqframe`, or calls `show`, as the command line does.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

ROOT = "mqframe"

logging.getLogger(ROOT).addHandler(logging.NullHandler())


def _as_extra(logger: Any, method: str, event: Any) -> tuple[tuple[str], dict[str, Any]]:
    exc_info = event.pop("exc_info", None)
    text = event.pop("event")
    values = " ".join(f"{key}={value!r}" for key, value in event.items())
    message = f"{text} {values}" if values else str(text)
    return (message,), {"exc_info": exc_info, "extra": {"event": text, "fields": dict(event)}}


def get_logger(part: str) -> Any:
    """The logger of one part, for example "net". Call it as `log.warning("event", key=value)`."""
    return structlog.wrap_logger(
        logging.getLogger(f"{ROOT}.{part}"),
        processors=[structlog.stdlib.filter_by_level, _as_extra],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


class _Formatter(logging.Formatter):
    """Renders what `get_logger` recorded, for people or as one JSON object a line."""

    def __init__(self, renderer: Any) -> None:
        super().__init__()
        self._renderer = renderer
        self._stamp = structlog.processors.TimeStamper(fmt="iso")

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "event": getattr(record, "event", None) or record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return str(self._renderer(None, record.levelname.lower(), self._stamp(None, "", event)))


def show(*, json: bool = False, level: str = "INFO") -> None:
    """Write the logs of this library to standard error, readable or, with `json`, one object a line."""
    renderer: Any
    if json:
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(renderer))
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
