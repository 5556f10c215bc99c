"""Brokers that copy each other's log: masters, slaves, and what operators do with them.

Public is what this module has; nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_replication.settings import ReplicationSettings as ReplicationSettings

__all__ = ["ReplicationSettings"]


def __getattr__(name: str) -> Any:
    if name != "ReplicationSettings":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mqframe_replication.settings import ReplicationSettings

    return ReplicationSettings
