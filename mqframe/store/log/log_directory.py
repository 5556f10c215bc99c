"""The files of a commit log as a crash or a human may have left them, made fit to be opened (store.md §4)."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Final

from mqframe.core.errors import StoreError
from mqframe.core.storage.log_scan import is_blank, scan
from mqframe.log import get_logger
from mqframe.store.files.layout import file_name, sized_files
from mqframe.store.files.log_file import Allocate
from mqframe.store.files.modes import file_mode
from mqframe.store.files.syncing import sync_directory

log: Final = get_logger("store")
_RESTORED_MAX: Final = 4096


def sound_files(directory: Path, file_bytes: int, allocate: Allocate) -> list[Path]:
    """The log files in `directory`, oldest first, each of `file_bytes`, one following the other.

    An empty last one is removed: it was being made. A shorter one, whose size a power loss kept from the
    disk, gets its zeros back; so does an empty one that alone says where the log goes on.
    Raises `StoreError` where one is missing between others, and where the files are of another size than the
    setting says; `OSError`.
    """
    files = sized_files(directory)
    if files and files[-1][2] == 0 and (len(files) > 1 or files[-1][0] == 0):
        files.pop()[1].unlink()
    if not files:
        return []
    _check_sizes(files, file_bytes)
    missing = _missing([base for base, _, _ in files], file_bytes, directory)
    if missing:
        names = ", ".join(file_name(base) for base in missing[:3]) + (" …" if len(missing) > 3 else "")
        raise StoreError(
            f"{len(missing)} files of the log in {directory} are missing between others: {names}. Put them"
            " back, from a copy or a replica, or go on without their messages: mqframe store recover"
            f" {directory.parent} --accept-loss"
        )
    for _, path, size in files:
        if size < file_bytes:
            log.warning("a log file is shorter than it was made; it gets its zeros back", file=str(path))
            _lengthen(path, file_bytes, allocate)
    return [path for _, path, _ in sized_files(directory)]


def _check_sizes(files: list[tuple[int, Path, int]], file_bytes: int) -> None:
    strides = {later[0] - earlier[0] for earlier, later in pairwise(files)}
    for base, path, size in files:
        complete = size < file_bytes and (size in strides or _is_complete(path, base))
        if size > file_bytes or complete or any(stride % file_bytes for stride in strides):
            raise StoreError(
                f"{path} has {size} bytes, the setting says {file_bytes}: set the file size that the store"
                " was written with (store.commit_log_file_bytes), or move the damaged file away"
            )


def _is_complete(path: Path, base: int) -> bool:
    """Whether the file ends with the mark that ends a file of just its size."""
    raw = path.read_bytes()
    at = 0
    for record in scan(raw, base):
        at = record.end - base
    return is_blank(raw, at)


def _missing(bases: list[int], file_bytes: int, directory: Path) -> list[int]:
    missing: list[int] = []
    for earlier, later in pairwise(bases):
        missing += range(earlier + file_bytes, later, file_bytes)[: _RESTORED_MAX + 1]
    if len(missing) > _RESTORED_MAX:
        raise StoreError(
            f"more than {_RESTORED_MAX} files are missing in {directory} behind {file_name(missing[0])}: what"
            " lies there are parts of different logs; move away what does not belong to this store"
        )
    return missing


def restore_missing(directory: Path, file_bytes: int) -> None:
    """Make the log files that are missing between others, of zeros. Raises `StoreError`, `OSError`."""
    for base in _missing([base for base, _, _ in sized_files(directory)], file_bytes, directory):
        descriptor = os.open(directory / file_name(base), os.O_RDWR | os.O_CREAT | os.O_EXCL, file_mode())
        with os.fdopen(descriptor, "r+b") as file:
            file.truncate(file_bytes)
            os.fsync(file.fileno())
        sync_directory(directory)


def _lengthen(path: Path, file_bytes: int, allocate: Allocate) -> None:
    with path.open("r+b") as file:
        allocate(file.fileno(), file_bytes)
        file.truncate(file_bytes)
        os.fsync(file.fileno())
