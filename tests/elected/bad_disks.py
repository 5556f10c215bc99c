"""Disks of members that are full, fail, or do not answer, in a simulation."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch


class BadDisks:
    """Of members with folders below `root`, by the names of these.

    `full`: no file gets its first bytes there; `failing`: nothing is synced; `stalled`: what threads sync
    does not end.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self.full: set[str] = set()
        self.failing: set[str] = set()
        self.stalled: set[str] = set()
        self._waiting: list[Callable[[], None]] = []

    def recover(self, folder: str) -> None:
        """All is well with the disk of `folder` again; what it owed is done."""
        for bad in (self.full, self.failing, self.stalled):
            bad.discard(folder)
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()

    def _folder(self, descriptor: int) -> str:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
        if place.endswith(".allocating") and self.stalled:
            return ""  # made by the loop, which would stand still with all hosts
        return place.removeprefix(self._root + "/").partition("/")[0]

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """For as long as this lasts; inside of a simulation."""
        allocate, sync, submit = os.posix_fallocate, os.fdatasync, ThreadPoolExecutor.submit

        def allocating(descriptor: int, at: int, size: int) -> None:
            if self._folder(descriptor) in self.full and os.fstat(descriptor).st_blocks == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            allocate(descriptor, at, size)

        def syncing(descriptor: int) -> None:
            folder = self._folder(descriptor)
            if folder in self.stalled:
                raise _NoAnswer
            if folder in self.failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            sync(descriptor)

        def submitting(pool: Any, work: Any, /, *args: Any, **more: Any) -> Future[Any]:
            future = submit(pool, work, *args, **more)
            return self._later(work, args) if isinstance(future.exception(), _NoAnswer) else future

        with (
            patch.object(os, "posix_fallocate", allocating),
            patch.object(os, "fdatasync", syncing),
            patch.object(ThreadPoolExecutor, "submit", submitting),
        ):
            yield

    def _later(self, work: Callable[..., Any], args: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def do() -> None:
            try:
                future.set_result(work(*args))
            except Exception as problem:  # as a pool does
                future.set_exception(problem)

        self._waiting.append(do)
        return future


class _NoAnswer(Exception):
    """The call does not return."""
