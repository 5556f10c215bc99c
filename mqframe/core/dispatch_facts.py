"""What queues and index need to know of a record's properties, found without splitting them all."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from mqframe.core import properties as p
from mqframe.core.delay_levels import delivery_time
from mqframe.core.java_hash import java_hash
from mqframe.core.topics import SCHEDULE_TOPIC

_TAGS: Final = "\x02TAGS\x01"
_KEYS: Final = "\x02KEYS\x01"
_UNIQUE: Final = "\x02UNIQ_KEY\x01"

tag_code = lru_cache(maxsize=1 << 14)(java_hash)
"""The tags code of a tag: its Java hash (wire.md §6)."""


def value_of(text: str, marker: str) -> str | None:
    """The last value in properties `text` of the name in `marker` (0x02, name, 0x01); `None` when absent."""
    at = text.rfind(marker)
    if at < 0:
        if not text.startswith(marker[1:]):
            return None
        at = -1
    start = at + len(marker)
    end = text.find("\x02", start)
    value = text[start:] if end < 0 else text[start:end]
    return value or p.find_property(text, marker[1:-1])


def index_keys(text: str) -> tuple[str, ...]:
    """The keys that a record with properties `text` is indexed under, the unique key first (store.md §3)."""
    unique = value_of(text, _UNIQUE)
    keys = value_of(text, _KEYS)
    if keys is None:
        return () if unique is None else (unique,)
    words = [word for word in keys.split(" ") if word]
    return tuple(words) if unique is None else (unique, *words)


def queue_code(topic: str, text: str, store_timestamp: int, levels: tuple[int, ...]) -> int:
    """The tags code of a record's queue entry: hash of its tag, or its delivery time in the delay topic, ms."""
    if topic == SCHEDULE_TOPIC:
        delay = p.find_property(text, p.DELAY)
        if delay is not None and delay.isdecimal() and int(delay) > 0:
            return delivery_time(store_timestamp, int(delay), levels)
    tag = value_of(text, _TAGS)
    return 0 if tag is None else tag_code(tag)
