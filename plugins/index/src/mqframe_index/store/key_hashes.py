"""Hashes under which the key index lists keys of messages (store.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from mqframe.core.messages.java_hash import java_hash, unsigned_hash

_HEADS_MAX: Final = 20_000
_SHIFT_4: Final = 31**4
_SHIFT_8: Final = 31**8
_MASK: Final = 0xFFFFFFFF
_part = lru_cache(maxsize=1 << 17)(unsigned_hash)


def index_hash(text: str) -> int:
    """The non-negative hash that index files use: |hashCode|, 0 where that overflows (IndexFile.java)."""
    value = abs(java_hash(text))
    return 0 if value == 1 << 31 else value


class KeyHashes:
    """Makes them, and remembers how keys of a topic begin. Belongs to one thread."""

    def __init__(self) -> None:
        self._heads: dict[str, dict[str, int]] = {}

    def pairs(
        self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], first: int
    ) -> list[tuple[int, int]]:
        """(hash, log offset) of each key of records of `topic`, given as (log offset, keys), from log offset
        `first` on."""
        last_key = last_head = None
        start = value = 0
        pairs = []
        for offset, keys in indexed:
            if offset < first:
                continue
            for key in keys:
                # All messages of a batch may share one key.
                if key != last_key:
                    last_key = key
                    if (len(key) == 32 or len(key) == 56) and key.isascii():
                        # Unique ids of one millisecond differ in four characters.
                        if key[:-4] != last_head:
                            last_head = key[:-4]
                            start = self._head(topic, key[:-8]) * _SHIFT_8 + _part(key[-8:-4]) * _SHIFT_4
                        value = (start + _part(key[-4:])) & _MASK
                    else:
                        value = unsigned_hash(key, self._head(topic, ""))
                    if value >= 0x80000000:
                        value = (0x100000000 - value) & 0x7FFFFFFF
                pairs.append((value, offset))
        return pairs

    def _head(self, topic: str, head: str) -> int:
        """The hash of what keys of `topic` that begin with `head` begin with in the index."""
        # Unique ids of one process begin alike for a minute: all but 8 of their characters are hashed once.
        heads = self._heads.get(topic)
        if heads is None or len(heads) >= _HEADS_MAX:
            if len(self._heads) >= _HEADS_MAX:
                self._heads.clear()
            heads = self._heads[topic] = {"": unsigned_hash(f"{topic}#")}
        value = heads.get(head)
        if value is None:
            value = heads[head] = unsigned_hash(head, heads[""])
        return value
