"""Files of a log that a reader opens for itself."""

from __future__ import annotations

import os
from pathlib import Path

from mqframe.store.files.layout import file_name
from mqframe.store.files.log_files import LogFiles


def written(directory: Path, count: int, first: int = 40) -> None:
    """`count` files of 10 bytes each, the first of which begins at log offset `first`."""
    for base in range(first, first + 10 * count, 10):
        (directory / file_name(base)).write_bytes(
            b"".join(b"%02d" % ((base + at) % 100) for at in range(0, 10, 2))
        )


def test_bytes_come_from_the_file_that_holds_them(tmp_path: Path) -> None:
    written(tmp_path, 3)
    with LogFiles(tmp_path, 40, 10) as files:
        assert [files.fetch(at, 2) for at in (40, 48, 50, 66)] == [b"40", b"48", b"50", b"66"]
        assert files.fetch(42, 6) == b"424446"


def test_a_file_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    written(tmp_path, 2)
    (tmp_path / file_name(40)).unlink()
    with LogFiles(tmp_path, 40, 10) as files:
        assert (files.fetch(40, 2), files.fetch(50, 2), files.fetch(60, 2)) == (None, b"50", None)


def test_few_are_open_at_once_and_none_in_the_end(tmp_path: Path) -> None:
    written(tmp_path, 100)
    bases = range(40, 1040, 10)
    before = len(os.listdir("/proc/self/fd"))
    with LogFiles(tmp_path, 40, 10) as files:
        for _ in range(2):
            assert [files.fetch(base, 2) for base in bases] == [b"%02d" % (base % 100) for base in bases]
            assert len(os.listdir("/proc/self/fd")) - before <= 64
    assert len(os.listdir("/proc/self/fd")) == before
