"""mqframe as a transport of kombu, and so as a broker of Celery: `broker_url = "mqframe://host:9876"`.

Importing this package makes the scheme known to kombu; where it is installed, that happens by itself as soon
as Celery, or anything of kombu that sends or receives, is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqframe_kombu.registration import register

if TYPE_CHECKING:
    from mqframe_kombu.names import queue_of, topic_of
    from mqframe_kombu.transport import Transport

__all__ = ["Transport", "queue_of", "register", "topic_of"]

_HOME = {"Transport": "transport", "queue_of": "names", "topic_of": "names"}


def __getattr__(name: str) -> Any:
    # kombu loads this package while it is imported itself: what needs kombu comes later.
    if name not in _HOME:
        raise AttributeError(f"module 'mqframe_kombu' has no attribute {name!r}")
    return getattr(import_module(f"mqframe_kombu.{_HOME[name]}"), name)
