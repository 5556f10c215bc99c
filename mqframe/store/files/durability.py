"""Whether what a store writes still gets to the disk; once it did not, it never counts again.

The kernel forgets what it could not write: the pages count as written, and a second sync succeeds without
them. So only one call ever hears of an error. It is noted here, whoever's call that was, and stays until the
next start, which writes anew what memory may hold and the disk may not.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from mqframe.core.errors import StoreUnavailable
from mqframe.log import get_logger
from mqframe.store.files.syncing import Sync, sync_directory, sync_really

log: Final = get_logger("store")


class SyncFailure(msgspec.Struct):
    """What the mark of a failed disk says: `flushed`: log offset up to which the log is on disk."""

    flushed: int
    reason: str


class Durability:
    """Syncs the files of one store's log, and knows whether the disk can be trusted. Safe in all threads.

    `sync`: waits for the disk; `failure`: why nothing can be stored any more, `None` normally; `reached`:
    gives the log offset up to which the log is on disk; `trusted`: False once any file of the store could not
    be brought to disk, so that the checkpoint stays where it is, and the next start recovers from there.
    """

    def __init__(self, mark: Path | None = None, sync: Sync = sync_really) -> None:
        self.sync = sync
        self.failure: StoreUnavailable | None = None
        self.reached: Callable[[], int] = lambda: 0
        self.trusted = True
        self._problem: Exception | None = None
        self._mark = mark
        self._lock = threading.Lock()

    @property
    def trouble(self) -> str:
        """Why what is stored may not be on disk, and what to do; empty normally."""
        if self.failure is not None:
            return str(self.failure)
        return "" if self.trusted else "queues or index could not be flushed; restart the broker"

    def sync_names(self, folder: Path) -> None:
        """Wait until the disk holds the names of the log's files in `folder`.

        Raises OSError, and nothing is stored any more then.
        """
        try:
            sync_directory(folder)
        except OSError as problem:
            self.lost(folder, problem)
            raise

    def lost(self, file: str | os.PathLike[str], problem: Exception) -> StoreUnavailable:
        """A file of the log could not be written or synced: nothing is stored any more.

        Returns the error for those who want to; the first one stays.
        """
        with self._lock:
            if self.failure is None:
                reason = (isinstance(problem, OSError) and problem.strerror) or problem
                self.failure = StoreUnavailable(
                    f"{os.fspath(file)} could not be flushed: {reason}; check the disk and restart",
                )
                self._problem = problem
                log.error(
                    "the commit log could not be flushed; no more is taken until a restart",
                    file=os.fspath(file), problem=str(problem), on_disk_to=self.reached(),
                )  # fmt: skip
                self._distrust(file, problem)
            return self.failure

    def distrust(self, what: str | os.PathLike[str], problem: Exception) -> None:
        """A file that is made from the log could not be brought to disk: the checkpoint stays where it is."""
        with self._lock:
            if self.trusted:
                log.error(
                    "files could not be flushed; the checkpoint stays, and the next start checks them",
                    file=os.fspath(what), problem=str(problem),
                )  # fmt: skip
                self._distrust(what, problem)

    def check(self) -> None:
        """Raise the error that the log met before, if it did."""
        if self._problem is not None:
            raise self._problem

    def _distrust(self, what: str | os.PathLike[str], problem: Exception) -> None:
        self.trusted = False
        if self._mark is None:
            return
        reason = f"{os.fspath(what)}: {problem}"
        try:
            # Not synced: it is wanted only as long as memory keeps what the disk has not, which keeps it too.
            self._mark.write_bytes(msgspec.json.encode(SyncFailure(self.reached(), reason)))
        except OSError as unwritten:
            log.error("the failure could not be noted", file=str(self._mark), problem=str(unwritten))


def noted_failure(mark: Path) -> SyncFailure | None:
    """What the run before noted of a disk that failed it; `None` when it did not."""
    try:
        return msgspec.json.decode(mark.read_bytes(), type=SyncFailure)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return SyncFailure(0, f"unknown: {mark} is broken ({problem})")
