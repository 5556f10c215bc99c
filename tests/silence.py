"""Logs of a simulation: whoever runs the tests would keep each of thousands of lines."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logs_kept_to(*handlers: logging.Handler) -> Iterator[None]:
    """Inside, `handlers` get what mqframe logs, and nobody else."""
    logger = logging.getLogger("mqframe")
    propagated, logger.propagate = logger.propagate, False
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.propagate = propagated
        for handler in handlers:
            logger.removeHandler(handler)
