"""Small disks of memory, one for each member of a group of processes, which can be filled."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20
DISK_MIB = 160
_FILLER = "filler"


@contextlib.contextmanager
def small_disks(folder: Path, count: int) -> Iterator[None]:
    """Mount one at the folder of each member. Raises `OSError` where that may not be done."""
    places = [folder / f"broker-{number}" for number in range(1, count + 1)]
    mounted: list[Path] = []
    try:
        for place in places:
            place.mkdir()
            _run("mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(place))
            mounted.append(place)
        yield
    finally:
        for place in mounted:
            _run("umount", "--lazy", str(place))


def _run(*words: str) -> None:
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise OSError(f"{' '.join(words)}: {ended.stderr.strip()}")


def fill(place: Path) -> None:
    """Leave no free byte on the disk of the member with the folder `place`."""
    with (place / _FILLER).open("ab", buffering=0) as file:
        size = MIB
        while size:
            try:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
                continue
            except OSError:
                size = size // 2 if size > 4096 else 0


def make_room(place: Path) -> None:
    """Undo `fill`."""
    (place / _FILLER).unlink()
