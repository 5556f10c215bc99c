"""The window of remembered keys: which key was stored first where, for a time and up to a number."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final, NamedTuple

_KEY_CHARACTERS_MAX: Final = 64


class Identity(NamedTuple):
    """What makes two sends the same. `group`: the producer group, empty where it does not matter."""

    topic: str
    group: str
    key: str


class First(NamedTuple):
    """Where the message of a key lies: what its sender was told.

    `commit_log_offset`, `size`: of the record, bytes; `queue_id`: as told, also of a message that waits;
    `queue_offset` in records; `stored_ms`: wall-clock time since 1970; `unique_key`: the message's own id;
    `recall_handle`: with which a message that waits can be taken back, else empty.
    """

    commit_log_offset: int
    size: int
    queue_id: int
    queue_offset: int
    stored_ms: int
    unique_key: str = ""
    recall_handle: str = ""

    @property
    def end_offset(self) -> int:
        """Log offset behind the record, bytes."""
        return self.commit_log_offset + self.size


def identity(topic: str, group: str, key: str) -> Identity:
    """The identity of a send; a long key is replaced by a digest of 128 bits, so that memory is bounded."""
    if len(key) > _KEY_CHARACTERS_MAX:
        # No text key holds the mark in front, so that none can pass for a digest.
        key = "\x01" + hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return Identity(topic, group, key)


class Window:
    """Remembers the first result of each key for `window_ms`, and of `keys_max` keys at most.

    A key is known for `window_ms` after its first message was stored, a resend does not prolong that. Where
    more keys come, those that were stored first go first. Results are noted in the order of the log, so that
    the same log gives the same window again.
    """

    def __init__(self, window_ms: int, keys_max: int) -> None:
        self._window_ms = window_ms
        self._keys_max = keys_max
        self._firsts: OrderedDict[Identity, First] = OrderedDict()

    def __len__(self) -> int:
        return len(self._firsts)

    def find(self, wanted: Identity, now_ms: int) -> First | None:
        """The first result of `wanted`; `None` when it is not known, or not any more."""
        first = self._firsts.get(wanted)
        return first if first is not None and now_ms - first.stored_ms < self._window_ms else None

    def note(self, stored: Identity, first: First) -> None:
        """Remember that `stored` was stored. What its time found known already is left as it is."""
        if self.find(stored, first.stored_ms) is not None:
            return
        firsts = self._firsts
        firsts.pop(stored, None)
        firsts[stored] = first
        self._forget(first.stored_ms)

    @property
    def oldest_offset(self) -> int | None:
        """Log offset of the oldest record that is remembered, bytes; `None` when nothing is."""
        for first in self._firsts.values():
            return first.commit_log_offset
        return None

    def expire(self, now_ms: int) -> None:
        """Let go of the memory of keys whose time is over."""
        self._forget(now_ms)

    def _forget(self, now_ms: int) -> None:
        firsts = self._firsts
        while firsts:
            oldest = next(iter(firsts.values()))
            if len(firsts) <= self._keys_max and now_ms - oldest.stored_ms < self._window_ms:
                return
            firsts.popitem(last=False)
