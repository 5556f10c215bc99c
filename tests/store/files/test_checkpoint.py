"""The checkpoint file, byte for byte."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest

from mqframe.store.files.checkpoint import Checkpoint


def test_five_numbers_in_a_page(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    checkpoint = Checkpoint(path)
    assert (checkpoint.log, checkpoint.queues, checkpoint.index) == (0, 0, 0)
    checkpoint.log, checkpoint.queues, checkpoint.index, checkpoint.confirmed = 1, 2, 3, 5
    checkpoint.save()
    numbers = struct.pack(">qqqqq", 1, 2, 3, 0, 5)
    assert path.read_bytes() == numbers + b"MQC1" + crc32(numbers).to_bytes(4, "big") + bytes(4096 - 48)
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


def test_that_of_another_broker_needs_no_sum(tmp_path) -> None:
    (tmp_path / "checkpoint").write_bytes(struct.pack(">qqqqq", 1, 2, 3, 0, 5) + bytes(4096 - 40))
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert (checkpoint.is_known, checkpoint.log) == (True, 1)


@pytest.mark.parametrize("bit", range(48 * 8))
def test_no_bit_of_it_misleads(tmp_path, bit, caplog) -> None:
    path = tmp_path / "checkpoint"
    checkpoint = Checkpoint(path)
    checkpoint.log = checkpoint.queues = 1_700_000_000_000
    checkpoint.save()
    raw = bytearray(path.read_bytes())
    raw[bit // 8] ^= 1 << bit % 8
    path.write_bytes(raw)
    damaged = Checkpoint(path)
    assert (damaged.is_known, damaged.log, damaged.queues) == (False, 0, 0)
    assert "the checkpoint is damaged" in caplog.text
