"""Offset stores: `local` (a JSON file), `remote` (the broker), `sqlite`."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_offsetstore.local import LocalOffsetStore
from mqframe_offsetstore.remote import RemoteOffsetStore
from mqframe_offsetstore.sqlite import SqliteOffsetStore

__all__ = [
    "LocalOffsetStore",
    "RemoteOffsetStore",
    "SqliteOffsetStore",
    "register_offset_stores",
]


@hookimpl
def register_offset_stores() -> Factories:
    """All three."""
    return {"local": LocalOffsetStore, "remote": RemoteOffsetStore, "sqlite": SqliteOffsetStore}
