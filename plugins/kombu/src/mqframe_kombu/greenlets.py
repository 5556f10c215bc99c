"""Whether threads are greenlets here, as gevent and eventlet have it."""

from __future__ import annotations

import sys
from typing import Final

PATCHED: Final = ("threading", "thread", "socket", "select")
"""Modules that this transport is made of. One of them that was replaced is one too many."""


def greenlet_library() -> str | None:
    """`gevent` or `eventlet`, where it has replaced what threads and their loops are made of; else `None`."""
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and any(map(gevent.is_module_patched, PATCHED)):
        return "gevent"
    eventlet = sys.modules.get("eventlet.patcher")
    if eventlet is not None and any(map(eventlet.is_monkey_patched, PATCHED)):
        return "eventlet"
    return None
