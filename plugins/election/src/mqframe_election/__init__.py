"""Brokers that have the same log, choose one that leads, and replace it when it dies.

Public is what this module has; nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_election.settings import ElectionSettings as ElectionSettings

__all__ = ["ElectionSettings"]


def __getattr__(name: str) -> Any:
    if name != "ElectionSettings":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mqframe_election.settings import ElectionSettings

    return ElectionSettings
