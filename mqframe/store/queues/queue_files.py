"""The files of one queue as a start finds them, made usable (store.md §4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from mqframe.log import get_logger
from mqframe.store.files.layout import file_name
from mqframe.store.files.modes import file_mode

log: Final = get_logger("store")
_MISSING_MAX: Final = 1000


class QueueFiles(NamedTuple):
    """`bases`: first bytes of the files, one after another; `doubtful_from`: the byte of the queue from which
    on nothing that they say counts, `None`: it all may."""

    bases: list[int]
    doubtful_from: int | None


def look(directory: str) -> list[tuple[int, int]]:
    """(first byte, size) of the files of a queue, in order; none when there is no such folder."""
    try:
        with os.scandir(directory) as entries:
            return sorted(
                (int(entry.name), entry.stat().st_size)
                for entry in entries
                if len(entry.name) == 20 and entry.name.isdecimal()
            )
    except FileNotFoundError:
        return []


def mended(directory: str, file_bytes: int) -> QueueFiles:
    """The files of the queue in `directory`, each with `file_bytes`, without a gap. Raises OSError.

    Short ones are filled up with zeros and missing ones between others are made, which the log has to fill.
    Files of another setting, too long or out of step, go: the queue is built of the log again.
    """
    found = look(directory)
    if not found:
        return QueueFiles([], 0)
    first, last = found[0][0], found[-1][0]
    expected = [(first + number * file_bytes, file_bytes) for number in range(len(found))]
    if found == expected and first % file_bytes == 0:
        return QueueFiles([base for base, _ in found], None)
    missing = (last - first) // file_bytes + 1 - len(found)
    out_of_step = any(size > file_bytes or base % file_bytes for base, size in found)
    log.warning(
        "files of a queue are missing, short, or of another size; built again", queue=directory,
        missing=missing, other_size=sum(size != file_bytes for _, size in found),
    )  # fmt: skip
    if out_of_step or missing > _MISSING_MAX:
        for base, _ in found:
            Path(directory, file_name(base)).unlink()
        return QueueFiles([], 0)
    sizes = dict(found)
    bases = list(range(first, last + 1, file_bytes))
    bad = [base for base in bases if sizes.get(base) != file_bytes]
    for base in bad:
        descriptor = os.open(
            f"{directory}/{file_name(base)}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, file_mode()
        )
        try:
            os.ftruncate(descriptor, file_bytes)
        finally:
            os.close(descriptor)
    return QueueFiles(bases, min(bad, default=None))
