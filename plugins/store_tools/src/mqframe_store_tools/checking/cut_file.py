"""The messages in a file that holds what was cut off a log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.log_scan import is_blank, read_record
from mqframe.core.storage.record import decode_record
from mqframe.store.upkeep.cuts import CUT_SUFFIX


def is_cut_file(path: Path) -> bool:
    """Whether `path` is a file by whose name it holds what was cut off a log."""
    return path.suffix == CUT_SUFFIX and path.is_file()


def cut_messages(path: Path) -> Iterator[ReceivedMessage]:
    """The messages in the file at `path`, in the order of the log; what is no sound record ends them.

    Raises `SettingError` for a file with another name; OSError.
    """
    start = path.name.partition("-")[0]
    if not is_cut_file(path) or not start.isdecimal():
        raise SettingError(f"{path} is no file with what was cut off a log: these are OFFSET-N{CUT_SUFFIX}")
    raw, base, at = memoryview(path.read_bytes()), int(start), 0
    while at < len(raw):
        if is_blank(raw, at):
            at += int.from_bytes(raw[at : at + 4], "big")
            continue
        record = read_record(raw, at, base + at)
        if record is None:
            return
        yield decode_record(raw, at)
        at += record.size
