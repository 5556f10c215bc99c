"""A store in memory: for tests, and for effects that last no longer than the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from uuid import uuid4

from mqframe_idempotence.states import StateTable
from mqframe_idempotence.stores import KEEP_SECONDS, Claim, Claims


class MemoryStore:
    """Remembers keys of this process, for all its threads and loops, and forgets them when it ends.

    `keep_seconds`: for how long a key is known; `keys_max`: how many are known at most, about 200 bytes each.
    A claim has no lease: who holds it lives as long as the store.
    """

    is_async = None
    in_transaction = False

    def __init__(
        self,
        keep_seconds: float = KEEP_SECONDS,
        keys_max: int = 100_000,
        now_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._table = StateTable(now_ms, None, keep_seconds * 1000, keys_max)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._table)

    def open(self, scope: str) -> MemoryAttempt:
        """A new attempt."""
        return MemoryAttempt(self._table, self._lock, scope)


class MemoryAttempt:
    """One try, by the keys that it claimed in `table`."""

    session = None

    def __init__(self, table: StateTable, lock: Lock, scope: str) -> None:
        self._table = table
        self._lock = lock
        self._scope = scope
        self._token = uuid4().hex
        self._ours: list[str] = []

    def claim(self, keys: Sequence[str]) -> Claims:
        """Claim `keys`."""
        with self._lock:
            found = {key: self._table.claim(f"{self._scope}:{key}", self._token) for key in keys}
        self._ours = [key for key, state in found.items() if state is Claim.NEW]
        return found

    def finish(self, keys: Sequence[str]) -> int:
        """Note `keys` as done."""
        done = set(keys)
        lost = 0
        with self._lock:
            for key in self._ours:
                name = f"{self._scope}:{key}"
                if key in done:
                    lost += not self._table.finish(name, self._token)
                else:
                    self._table.release(name, self._token)
        return lost

    def give_up(self) -> None:
        """Release what was claimed."""
        self.finish(())

    def close(self) -> None:
        """Nothing is held."""
