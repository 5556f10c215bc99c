"""The settings of the broker service `index`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, setting, settings


@settings("index")
class IndexSettings:
    """Whether messages are found by their keys, and how large the files of the index are."""

    enabled: bool = setting(
        True, doc="index messages by key", conf="messageIndexEnable", was="store.index_enabled"
    )
    slots: int = setting(
        5_000_000,
        doc="hash slots of an index file",
        check=at_least(1),
        conf="maxHashSlotNum",
        was="store.index_slots",
    )
    entries: int = setting(
        20_000_000,
        doc="entries of an index file",
        check=at_least(2),
        conf="maxIndexNum",
        was="store.index_entries",
    )
