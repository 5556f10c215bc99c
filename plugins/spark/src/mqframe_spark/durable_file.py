"""Small and large files that appear all at once, and the one that names a store."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Final

STORE_ID_FILE: Final = "parquet-dispatcher.id"
TEMPORARY: Final = ".tmp"


def store_id(data_directory: Path) -> str:
    """Eight hexadecimal digits that stay with `data_directory`; made, and flushed, when first asked for."""
    path = data_directory / STORE_ID_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        made = uuid.uuid4().hex[:8]
        write_durably(path, (made + "\n").encode())
        return made


def write_durably(path: Path, content: bytes | memoryview) -> None:
    """Write, flush, and only then give the name, all of it or nothing. Raises `OSError`."""
    temporary = path.with_name(f".{path.name.removeprefix('.')}{TEMPORARY}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
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
