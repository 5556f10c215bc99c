"""Tags codes and index keys of stored records, found without splitting all their properties."""

from __future__ import annotations

from functools import lru_cache

from mqframe.core.delay.levels import delivery_time
from mqframe.core.messages import properties as p
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.names import SCHEDULE_TOPIC
from mqframe.core.messages.whole_numbers import whole_number

tag_code = lru_cache(maxsize=1 << 14)(java_hash)
"""The tags code of a tag: its Java hash (wire.md §6)."""


def index_keys(text: str) -> tuple[str, ...]:
    """The keys that a record with properties `text` is indexed under, the unique key first (store.md §3)."""
    # Written out twice instead of called: this runs for every message.
    unique = keys = None
    at = text.rfind("UNIQ_KEY\x01")
    if at >= 0:
        end = text.find("\x02", at)
        unique = text[at + 9 : end]
        if end < 0 or not unique or (at and text[at - 1] != "\x02"):
            unique = p.find_property(text, p.UNIQUE_KEY)
    at = text.rfind("KEYS\x01")
    if at >= 0:
        end = text.find("\x02", at)
        keys = text[at + 5 : end]
        if end < 0 or not keys or (at and text[at - 1] != "\x02"):
            keys = p.find_property(text, p.KEYS)
    if keys is None:
        return () if unique is None else (unique,)
    words = [keys] if " " not in keys else [word for word in keys.split(" ") if word]
    return tuple(words) if unique is None else (unique, *words)


def queue_code(topic: str, text: str, store_timestamp: int, levels: tuple[int, ...]) -> int:
    """The tags code of a record's queue entry: hash of its tag; in the delay topic its delivery time, ms."""
    if topic == SCHEDULE_TOPIC:
        delay = p.find_property(text, p.DELAY)
        level = None if delay is None or not levels else whole_number(delay)
        if level is not None and level > 0:
            return delivery_time(store_timestamp, level, levels)
    at = text.rfind("TAGS\x01")
    if at < 0:
        return 0
    end = text.find("\x02", at)
    tag: str | None = text[at + 5 : end]
    if end < 0 or not tag or (at and text[at - 1] != "\x02"):
        tag = p.find_property(text, p.TAGS)
    return 0 if tag is None else tag_code(tag)
