"""Offset stores: `local` (a JSON file), `sqlite`. That of the brokers, `remote`, is mqframe's own."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_offsetstore.local import LocalOffsetStore
from mqframe_offsetstore.sqlite import SqliteOffsetStore

__all__ = [
    "LocalOffsetStore",
    "SqliteOffsetStore",
    "register_offset_stores",
]


@hookimpl
def register_offset_stores() -> Factories:
    """Both."""
    return {"local": LocalOffsetStore, "sqlite": SqliteOffsetStore}
