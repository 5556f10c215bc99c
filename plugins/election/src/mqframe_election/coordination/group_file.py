"""Groups, their leaders and leases in an SQLite file that processes of one machine share. Blocks.

Leases end by the system's monotonic clock, which all processes of one boot read alike; none outlives its
boot.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mqframe.core.errors import CoordinationError
from mqframe.hooks.interfaces import GroupPlace, Snapshot

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS coordination_groups (
    cluster TEXT NOT NULL,
    broker TEXT NOT NULL,
    state BLOB,
    version INTEGER NOT NULL DEFAULT 0,
    leader BLOB,
    leader_lease INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cluster, broker)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS coordination_replicas (
    cluster TEXT NOT NULL,
    broker TEXT NOT NULL,
    member INTEGER NOT NULL,
    value BLOB NOT NULL,
    lease INTEGER NOT NULL,
    PRIMARY KEY (cluster, broker, member)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS coordination_leases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster TEXT NOT NULL,
    broker TEXT NOT NULL,
    boot TEXT NOT NULL,
    ttl_seconds REAL NOT NULL,
    deadline REAL NOT NULL
);
"""
_BUSY_PAUSE_SECONDS: Final = 0.005
_OF_GROUP: Final = "cluster = ? AND broker = ?"
# Where nothing names the boot, a deadline that lies too far ahead is of an earlier one.
_OVER: Final = f"{_OF_GROUP} AND (boot <> ? OR deadline <= ? OR deadline > ? + ttl_seconds)"
_READ: Final = (
    f"SELECT state, version, leader, leader_lease, changes FROM coordination_groups WHERE {_OF_GROUP}"
)
_WRITE: Final = f"UPDATE coordination_groups SET state = ?, version = ? WHERE {_OF_GROUP}"
_LEAD: Final = f"UPDATE coordination_groups SET leader = ?, leader_lease = ? WHERE {_OF_GROUP}"
_TOUCH: Final = f"UPDATE coordination_groups SET changes = changes + 1 WHERE {_OF_GROUP}"
_LIVES: Final = f"SELECT ttl_seconds FROM coordination_leases WHERE {_OF_GROUP} AND id = ?"


class GroupFile:
    """The file at `path`, used from one thread.

    `monotonic`: seconds of the system's clock; `boot`: names the run of the machine. Methods are one
    transaction each, in which leases that are over are gone. They raise `CoordinationError`, after
    `busy_seconds` when other processes keep the file locked.
    """

    busy_seconds = 1.0
    """May be changed between calls."""

    def __init__(self, path: Path, monotonic: Callable[[], float], boot: str) -> None:
        self.path = path
        self._monotonic = monotonic
        self._boot = boot
        self._database: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def read(self, place: GroupPlace) -> tuple[Snapshot, int]:
        """What there is of the group in `place`, and its count of changes."""
        with self._transaction(place) as database:
            state, version, leader, lease, changes = database.execute(_READ, place[:2]).fetchone()
            found = database.execute(
                f"SELECT member, value FROM coordination_replicas WHERE {_OF_GROUP}", place[:2]
            )
            return Snapshot(state, version, leader if lease else None, dict(found)), changes

    def is_as_read(self, place: GroupPlace, changes: int) -> bool:
        """Whether nothing happened to the group since it had that count. Takes no lock."""
        with self._failures(maybe_stored=False):
            database = self._open()
            now = self._monotonic()
            row = database.execute(_READ, place[:2]).fetchone()
            over = database.execute(
                f"SELECT 1 FROM coordination_leases WHERE {_OVER}", (*place[:2], self._boot, now, now)
            ).fetchone()
            return row is not None and row[4] == changes and over is None

    def grant(self, place: GroupPlace, ttl_seconds: float) -> int:
        """The number of a new lease."""
        with self._transaction(place) as database:
            deadline = self._monotonic() + ttl_seconds
            row = (*place[:2], self._boot, ttl_seconds, deadline)
            done = database.execute(
                "INSERT INTO coordination_leases (cluster, broker, boot, ttl_seconds, deadline)"
                " VALUES (?, ?, ?, ?, ?)",
                row,
            )
            assert done.lastrowid is not None
            return done.lastrowid

    def renew(self, place: GroupPlace, lease: int) -> bool:
        """Have `lease` live for its time from now on; `False`: it is gone."""
        with self._transaction(place) as database:
            row = database.execute(_LIVES, (*place[:2], lease)).fetchone()
            if row is not None:
                deadline = self._monotonic() + row[0]
                database.execute(
                    "UPDATE coordination_leases SET deadline = ? WHERE id = ?", (deadline, lease)
                )
            return row is not None

    def revoke(self, place: GroupPlace, lease: int) -> None:
        """End `lease`."""
        with self._transaction(place) as database:
            self._end(database, place, [lease])

    def announce(self, place: GroupPlace, lease: int, replica: bytes) -> bool:
        """Enter `replica` for the member in `place`; `False`: the lease is gone."""
        with self._transaction(place) as database:
            if database.execute(_LIVES, (*place[:2], lease)).fetchone() is None:
                return False
            row = (*place, replica, lease)
            database.execute("INSERT OR REPLACE INTO coordination_replicas VALUES (?, ?, ?, ?, ?)", row)
            database.execute(_TOUCH, place[:2])
            return True

    def claim(self, place: GroupPlace, lease: int, state: bytes, leader: bytes, version: int) -> int:
        """As `Coordination.claim`."""
        with self._transaction(place) as database:
            _, held, _, leads, _ = database.execute(_READ, place[:2]).fetchone()
            lives = database.execute(_LIVES, (*place[:2], lease)).fetchone()
            if leads or held != version or lives is None:
                return 0
            database.execute(_LEAD, (leader, lease, *place[:2]))
            return self._write(database, place, state, version)

    def change(self, place: GroupPlace, lease: int, state: bytes, version: int) -> int:
        """As `Coordination.change`."""
        with self._transaction(place) as database:
            _, held, _, leads, _ = database.execute(_READ, place[:2]).fetchone()
            return self._write(database, place, state, version) if (leads, held) == (lease, version) else 0

    def force(self, place: GroupPlace, state: bytes, version: int) -> int:
        """As `Coordination.force`."""
        with self._transaction(place) as database:
            held = database.execute(_READ, place[:2]).fetchone()[1]
            return self._write(database, place, state, version) if held == version else 0

    def step_down(self, place: GroupPlace, lease: int) -> None:
        """Take the leader away, if it is there by `lease`."""
        with self._transaction(place) as database:
            if database.execute(_READ, place[:2]).fetchone()[3] == lease:
                database.execute(_LEAD, (None, 0, *place[:2]))
                database.execute(_TOUCH, place[:2])

    def _write(self, database: sqlite3.Connection, place: GroupPlace, state: bytes, version: int) -> int:
        database.execute(_WRITE, (state, version + 1, *place[:2]))
        database.execute(_TOUCH, place[:2])
        return version + 1

    def _end(self, database: sqlite3.Connection, place: GroupPlace, leases: list[int]) -> None:
        for lease in leases:
            database.execute("DELETE FROM coordination_leases WHERE id = ?", (lease,))
            carried = (*place[:2], lease)
            database.execute(f"DELETE FROM coordination_replicas WHERE {_OF_GROUP} AND lease = ?", carried)
            database.execute(f"{_LEAD} AND leader_lease = ?", (None, 0, *carried))
            database.execute(_TOUCH, place[:2])

    @contextmanager
    def _transaction(self, place: GroupPlace) -> Iterator[sqlite3.Connection]:
        """All or nothing, one after the other over all processes, on the disk when it is left."""
        with self._failures(maybe_stored=False):
            database = self._open()
            database.execute("BEGIN IMMEDIATE")
        try:
            with self._failures(maybe_stored=False):
                database.execute(
                    "INSERT OR IGNORE INTO coordination_groups (cluster, broker) VALUES (?, ?)", place[:2]
                )
                now = self._monotonic()
                over = database.execute(
                    f"SELECT id FROM coordination_leases WHERE {_OVER}", (*place[:2], self._boot, now, now)
                )
                self._end(database, place, [lease for (lease,) in over.fetchall()])
                yield database
            with self._failures(maybe_stored=True):
                database.execute("COMMIT")
        finally:
            if database.in_transaction:
                with self._failures(maybe_stored=True):
                    database.execute("ROLLBACK")

    @contextmanager
    def _failures(self, *, maybe_stored: bool) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            raise CoordinationError(
                f"coordination file {self.path}: {problem}", maybe_stored=maybe_stored
            ) from problem

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite would make it readable for all; its other files get the permissions of this one.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(self.path, timeout=self.busy_seconds, isolation_level=None)
            try:
                self._prepare(database)
            except sqlite3.Error:
                database.close()
                raise
            self._database = database
        self._database.execute(f"PRAGMA busy_timeout = {int(self.busy_seconds * 1000)}")
        return self._database

    def _prepare(self, database: sqlite3.Connection) -> None:
        until = self._monotonic() + self.busy_seconds
        while True:
            try:
                # Readers do not wait for writers; a commit is on the disk when it returns.
                database.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as problem:
                # Of processes that open a new file at once SQLite refuses some without waiting.
                if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or self._monotonic() >= until:
                    raise
                time.sleep(_BUSY_PAUSE_SECONDS)
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_TABLES)
