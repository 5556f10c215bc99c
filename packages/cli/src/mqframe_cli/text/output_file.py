"""A file that a command writes because somebody named it: replaced, or written to if it is a device."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

_DEVICES: Final = Path("/dev")
_PROCESSES: Final = Path("/proc")
"""Below it are names of what a process has open, /dev/fd among them."""


@contextmanager
def output_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """What takes the bytes that `path` shall hold from then on.

    A file, or a new name, gets them all at once when the block ends; after an error it is as before. They lie
    in a file beside it meanwhile. A link is followed. A device, a pipe, or a name of something open, such as
    /dev/stdout, is written to.

    `mode`: of a new file, as far as the umask allows; one that is replaced hands on its own, but no more than
    that. Raises OSError.
    """
    if not is_replaceable(path):
        with path.open("ab" if path.is_file() else "wb") as open_file:
            yield open_file
        return
    target = Path(os.path.realpath(path))
    fresh = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    former = target.stat() if target.exists() else None
    if former is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(target))
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as file:
            if former is not None:
                os.fchmod(file.fileno(), former.st_mode & mode)
                with suppress(PermissionError):  # none but root gives files away
                    os.fchown(file.fileno(), former.st_uid, former.st_gid)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)


def is_replaceable(path: Path) -> bool:
    """Whether `path` names a file, a folder or nothing yet; no device, pipe, or what a process has open."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        return False
    folder = Path(os.path.realpath(path.parent))
    return folder != _DEVICES and not folder.is_relative_to(_PROCESSES)


def is_standard_output(path: Path) -> bool:
    """Whether `path` is what standard output goes to."""
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # nothing there; or standard output has no descriptor
        return False
