"""The folders of days that hold Parquet files: who writes into them, and who exchanges one for another.

Files are published, and removed, while the folder's lock is shared; a folder is exchanged by whoever has the
lock alone, for no longer than that takes. The locks are those of files, so they end with their process.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqframe.core.errors import GiveUpError
from mqframe_spark.lake.upkeep import UpkeepBusy

DAY_PREFIX: Final = "day="
WRITERS_LOCK: Final = ".writers.lock"
UPKEEP_LOCK: Final = ".upkeep.lock"
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_LACKING: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Publish or remove files below `root`; no folder is exchanged meanwhile. Raises `OSError`."""
    with _locked(root / WRITERS_LOCK, fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def exchanging(root: Path) -> Iterator[None]:
    """Be the only one that changes files below `root`. Raises `OSError`."""
    with _locked(root / WRITERS_LOCK, fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def tidying(root: Path) -> Iterator[None]:
    """Be the only one that puts files below `root` together. Raises `OSError`, `UpkeepBusy`."""
    try:
        with _locked(root / UPKEEP_LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            yield
    except BlockingIOError:
        raise UpkeepBusy(f"another process puts files in {root} together; wait until it is done") from None


def exchange(first: Path, second: Path) -> None:
    """Give two folders each other's name, both at once. Raises `OSError`, `GiveUpError` where none can."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    done = rename and rename(_AT_FDCWD, bytes(first), _AT_FDCWD, bytes(second), _RENAME_EXCHANGE)
    number = ctypes.get_errno()
    if done == 0:
        return
    if rename is None or number in _LACKING:
        raise GiveUpError(
            f"{first}: this system cannot exchange folders there, which takes Linux and a file system of its"
            " own kind, such as ext4, xfs, btrfs or tmpfs; Parquet files are not put together"
        )
    raise OSError(number, os.strerror(number), str(first), None, str(second))


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fcntl.flock(file, how)
        yield
