"""What a user must hear although nothing failed.

The library's logs are quiet until an application wants them, and Spark's Python workers, where the source
runs, are nobody's application: there the line goes to standard error, which Spark keeps with the output of
the driver or the executor.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from mqframe.log import ROOT, get_logger

_log = get_logger("spark")


def tell(event: str, **values: Any) -> None:
    """Log `event` as a warning; where nobody listens to the log, write it to standard error."""
    _log.warning(event, **values)
    if not _heard():
        told = " ".join(f"{key}={value!r}" for key, value in values.items())
        print(f"mqframe: {event} {told}", file=sys.stderr, flush=True)


def _heard() -> bool:
    """Whether a handler that does something gets the log's records."""
    logger: logging.Logger | None = logging.getLogger(ROOT)
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
