"""What the operating system refuses is told with what to do."""

from __future__ import annotations

import errno
import os

import pytest

from mqframe.core.os_errors import told


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some disk space"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENFILE, "fs.file-max"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permissions"),
        (errno.EIO, "the disk fails"),
    ],
)
def test_what_happened_and_what_to_do(number: int, advice: str) -> None:
    said = told(OSError(number, os.strerror(number), "/data/x"))
    assert said.startswith(f"{os.strerror(number)} (/data/x); ")
    assert advice in said
    assert ("disk space" in said) == (number == errno.ENOSPC)


def test_what_is_not_known_is_said_as_it_is() -> None:
    assert told(OSError(errno.EPIPE, "Broken pipe")) == "Broken pipe"
    assert told(OSError("the port is taken")) == "the port is taken"
    assert told(OSError()) == "OSError"
