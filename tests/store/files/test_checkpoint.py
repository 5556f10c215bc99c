"""The checkpoint file, byte for byte."""

from __future__ import annotations

import struct

import pytest

from mqframe.store.files.checkpoint import Checkpoint


def test_five_numbers_in_a_page(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    checkpoint = Checkpoint(path)
    assert (checkpoint.log, checkpoint.queues, checkpoint.index) == (0, 0, 0)
    checkpoint.log, checkpoint.queues, checkpoint.index, checkpoint.confirmed = 1, 2, 3, 5
    checkpoint.save()
    assert path.read_bytes() == struct.pack(">qqqqq", 1, 2, 3, 0, 5) + bytes(4096 - 40)
    again = Checkpoint(path)
    assert (again.log, again.queues, again.index, again.master_flushed, again.confirmed) == (1, 2, 3, 0, 5)


def test_what_was_encoded_before_is_saved(tmp_path) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    checkpoint.log = 7
    encoded = checkpoint.encode()
    checkpoint.log = 8
    checkpoint.save(encoded)
    assert Checkpoint(tmp_path / "checkpoint").log == 7


@pytest.mark.parametrize("raw", [b"", b"\1" * 39])
def test_half_a_file_says_nothing(tmp_path, raw) -> None:
    (tmp_path / "checkpoint").write_bytes(raw)
    assert Checkpoint(tmp_path / "checkpoint").log == 0
