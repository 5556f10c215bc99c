"""Small and large files that appear all at once, and the one that names a store."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqframe.core.errors import RetryError

STORE_ID_FILE: Final = "parquet-dispatcher.id"
LOCK_FILE: Final = "parquet-dispatcher.lock"
TEMPORARY: Final = ".tmp"
PIECE_BYTES: Final = 4 << 20
_LOOK_SECONDS: Final = 0.05


def store_id(data_directory: Path) -> str:
    """Eight hexadecimal digits that stay with `data_directory`; made, and flushed, when first asked for."""
    path = data_directory / STORE_ID_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        made = uuid.uuid4().hex[:8]
        write_durably(path, (made + "\n").encode())
        return made


@contextlib.contextmanager
def only_one(data_directory: Path, wait_seconds: float) -> Iterator[None]:
    """Be the only process that lands messages of the store in `data_directory`.

    The one of a broker that was killed may still be busy for a moment. Raises `RetryError` when another has
    not ended within `wait_seconds`.
    """
    with (data_directory / LOCK_FILE).open("wb") as file:
        until = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise RetryError(
                        f"another process still makes files of the store in {data_directory}"
                    ) from None
                time.sleep(_LOOK_SECONDS)
        yield


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Write, flush, and only then give the name, all of it or nothing. Raises `OSError`."""
    temporary = path.with_name(f".{path.name.removeprefix('.')}{TEMPORARY}")
    view = memoryview(content)
    with temporary.open("wb", buffering=0) as file:
        # Piece by piece: the broker's own flushes would wait for all that a file system has to write before.
        for start in range(0, len(view), PIECE_BYTES):
            piece = view[start : start + PIECE_BYTES]
            while piece:
                piece = piece[file.write(piece) :]
            os.fdatasync(file.fileno())
        os.fsync(file.fileno())
    temporary.replace(path)
    # The name lasts only once the folder is on the disk, too.
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
