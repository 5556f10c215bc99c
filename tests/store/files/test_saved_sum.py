"""Checksums beside small files."""

from __future__ import annotations

import os
import zlib

import pytest

from mqframe.store.files.saved_sum import SavedSum, SavedSums, read_sums, sum_path, write_sums


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "topics.json"
    path.write_bytes(b"saved")
    os.utime(path, ns=(0, 7))
    return path


def test_they_are_read_as_they_were_written(path):
    assert read_sums(path) is None
    sums = SavedSums(SavedSum.of(b"saved", 7), SavedSum.of(b"former", 6))
    write_sums(path, sums)
    assert read_sums(path) == sums
    assert sums.saved == SavedSum(5, zlib.crc32(b"saved"), 7)
    assert sum_path(path).name == "topics.json.sum"


@pytest.mark.parametrize("content", [b"", b"00000000", b"{}\n00000000\n", b"{}\n%08x\n" % zlib.crc32(b"{}")])
def test_what_is_no_checksum_counts_as_none(path, content):
    sum_path(path).write_bytes(content)
    assert read_sums(path) is None


@pytest.mark.parametrize(
    ("raw", "changed", "copy", "damaged"),
    [
        (b"saved", 7, b"former", False),
        (b"saved", 9, b"former", False),  # a copy of the folder
        (b"former", 9, b"former", False),
        (b"sawed", 7, b"former", True),
        (b"sawed", 7, None, True),
        (b"sawed", 9, b"former", True),
        (b"sawed", 9, None, False),
        (b"sawed", 9, b"saved", False),  # another broker has saved
        (b"longer", 7, b"former", False),
    ],
)
def test_what_differs_is_damaged_unless_somebody_else_has_saved(path, raw, changed, copy, damaged):
    sums = SavedSums(SavedSum.of(b"saved", 7), SavedSum.of(b"former", 6))
    backup = path.with_name("topics.json.bak")
    path.write_bytes(raw)
    os.utime(path, ns=(0, changed))
    if copy is not None:
        backup.write_bytes(copy)
        os.utime(backup, ns=(0, 6 if copy == b"former" else 9))
    assert sums.is_damaged(raw, path, backup) is damaged
