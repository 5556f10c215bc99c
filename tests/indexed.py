"""Stores with an index of keys, in small files."""

from __future__ import annotations

from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_store_tools.checking.log_reading import installed_reading

from mqframe.hooks.interfaces.key_index import OpenIndex

LOG_READING = installed_reading()
"""What reads the log at a start, as of a broker here."""


def small_index(slots: int = 1000, entries: int = 4000) -> OpenIndex:
    """What opens the index of a store, as `MessageStore.open` wants it."""
    return FileIndexing(IndexSettings(slots=slots, entries=entries)).open
