"""Counts of what became of messages."""

from __future__ import annotations

from threading import Lock
from typing import Final, NamedTuple


class Counted(NamedTuple):
    """What became of messages since the start, each counted once a delivery.

    `effects`: handed to the listener, which succeeded, and noted; `duplicates`: answered without a call, as
    their effect was there; `in_progress`: put off, as another delivery was being worked on; `failed`: the
    listener raised or asked for another delivery; `store_failures`: calls of the store that failed;
    `without_store`: handed to the listener though the store was away; `without_key`: handed over without a
    key; `lost`: the lease was over before the listener was, so that the effect may be there twice.
    """

    effects: int = 0
    duplicates: int = 0
    in_progress: int = 0
    failed: int = 0
    store_failures: int = 0
    without_store: int = 0
    without_key: int = 0
    lost: int = 0


NAMES: Final = Counted._fields


class Counts:
    """Counters that any thread may move. Read `snapshot()`; all of them only ever grow."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = dict.fromkeys(NAMES, 0)

    def add(self, name: str, count: int = 1) -> None:
        """Count `count` more under `name`, a field of `Counted`. Raises `KeyError` for any other."""
        if count:
            with self._lock:
                self._now[name] += count

    def snapshot(self) -> Counted:
        """All counters at one moment."""
        with self._lock:
            return Counted(**self._now)
