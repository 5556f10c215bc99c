"""Offsets in an SQLite file that all consumers of one machine may share."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import ClosedError, RetryError, StoreError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import MemoryOffsetStore, OffsetStoreContext

T = TypeVar("T")

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS offsets (
    consumer_group TEXT NOT NULL,
    topic TEXT NOT NULL,
    broker_name TEXT NOT NULL,
    queue_id INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (consumer_group, topic, broker_name, queue_id)
) WITHOUT ROWID
"""
_READ: Final = """
SELECT next_offset FROM offsets
WHERE consumer_group = ? AND topic = ? AND broker_name = ? AND queue_id = ?
"""
_WRITE: Final = "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?, ?, ?)"


class SqliteOffsetStore(MemoryOffsetStore):
    """One row for each group and queue. The database is used from one thread of its own."""

    @settings("plugins.sqlite")
    class Options:
        """Where the file lies, and how long to wait for other processes."""

        path: Path | None = setting(None, doc="the file; none: offsets.sqlite3 in the client's offset folder")
        busy_seconds: float = setting(
            5.0, doc="how long to wait for another process that is writing, seconds", check=at_least(0)
        )

    def __init__(self, context: OffsetStoreContext, options: Options | None = None) -> None:
        super().__init__()
        chosen = options or self.Options()
        self.path = (chosen.path or context.directory / "offsets.sqlite3").expanduser()
        self._busy_seconds = chosen.busy_seconds
        self._group = context.group
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mqframe-offsets")
        self._database: sqlite3.Connection | None = None

    async def load(self) -> None:
        """Open the file. Raises `StoreError` when it is no database, `RetryError` when it is locked."""
        await self._run(self._open)

    async def read_stored(self, queue: MessageQueue) -> int | None:
        """The offset in the file. Raises `RetryError` when it is locked."""
        return await self._run(lambda: self._select(queue))

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Write the offsets of `queues` in one transaction. Raises `RetryError` when the file is locked."""
        rows = [(self._group, *queue, offset) for queue, offset in self.offsets.items() if queue in queues]
        if rows:
            await self._run(lambda: self._insert(rows))

    async def close(self) -> None:
        """Close the file."""
        await self._run(self._close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except sqlite3.OperationalError as problem:
            raise RetryError(f"offset database {self.path}: {problem}") from problem
        except sqlite3.Error as problem:
            raise StoreError(f"offset database {self.path}: {problem}") from problem

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite would make it readable for all; its other files get the permissions of this one.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self.path, timeout=self._busy_seconds)
        try:
            # Readers do not wait for writers; a commit is on the disk when it returns.
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute(_TABLE)
            database.commit()
        except sqlite3.Error:
            database.close()
            raise
        self._database = database

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise ClosedError(
                f"offset database {self.path} is not open: call load first, and not after close"
            )
        return self._database

    def _select(self, queue: MessageQueue) -> int | None:
        row = self._opened().execute(_READ, (self._group, *queue)).fetchone()
        return None if row is None else int(row[0])

    def _insert(self, rows: list[tuple[str, str, str, int, int]]) -> None:
        with self._opened() as transaction:
            transaction.executemany(_WRITE, rows)

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
