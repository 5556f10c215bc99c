"""What kind of store lies in a directory, and whether somebody uses it: for tools that look at its files."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from mqframe.core.errors import SettingError
from mqframe.store.files.layout import Layout


def known_store(directory: Path) -> Layout:
    """The layout of the store in `directory`, if it is one whose files are known here.

    Raises `SettingError` for any other, which names what is unknown.
    """
    layout = Layout(directory.expanduser())
    if not layout.commit_log.is_dir():
        strange = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
        ledgers = [name for name in strange if name.startswith("dledger-")]
        what = (
            f"its log is kept by DLedger ({ledgers[0]})" if ledgers else "there is no folder commitlog in it"
        )
        raise SettingError(f"{directory} holds no store that is known here: {what}")
    for folder in sorted(path for path in layout.root.iterdir() if path.is_dir()):
        if (folder / "CURRENT").is_file() or any(folder.glob("MANIFEST-*")):
            raise SettingError(
                f"{folder} is a RocksDB database: queues in RocksDB are not known here; use tools of Apache"
                " RocketMQ, or have its broker write queues as files (storeType=default)"
            )
    batches = layout.root / "batchconsumequeue"
    if batches.is_dir() and any(batches.rglob("0*")):
        raise SettingError(f"{batches} holds batch queues, which are not known here")
    return layout


def refuse_in_use(layout: Layout) -> None:
    """Raise `SettingError` when a broker uses the store; nothing is locked."""
    if _is_in_use(layout):
        raise SettingError(
            f"a broker uses {layout.root} (it holds {layout.lock}), so its files change: stop it, or take a"
            " snapshot of the file system and look at that"
        )


def _is_in_use(layout: Layout) -> bool:
    """Whether some broker holds the directory; its lock is looked at, never taken. Raises OSError.

    Where the system cannot tell (it is not Linux), `False`.
    """
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return False
    try:
        descriptor = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, asked)
        return bool(struct.unpack("hhqqi", answer)[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)
