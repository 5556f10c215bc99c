from __future__ import annotations

import struct

import pytest

from mqframe.core.errors import StoreError
from mqframe.core.storage.record import MAGIC_BLANK
from mqframe.store.files.log_file import allocate_really
from mqframe.store.log.log_directory import restore_missing, sound_files

FILE = 4096


def files_in(tmp_path, sizes):
    for base, size in sizes.items():
        (tmp_path / f"{base:020d}").write_bytes(b"\1" * size)


def found(tmp_path, file_bytes=FILE):
    paths = sound_files(tmp_path, file_bytes, allocate_really)
    return {int(path.name): path.read_bytes() for path in paths}


def test_sound_files_stay_as_they_are(tmp_path):
    files_in(tmp_path, {FILE: FILE, 2 * FILE: FILE})
    assert found(tmp_path) == {FILE: b"\1" * FILE, 2 * FILE: b"\1" * FILE}
    assert found(tmp_path / "none") == {}


def test_an_empty_last_file_goes(tmp_path):
    files_in(tmp_path, {0: FILE, FILE: 0})
    assert list(found(tmp_path)) == [0]
    assert not (tmp_path / f"{FILE:020d}").exists()


def test_an_empty_file_that_alone_says_where_the_log_goes_on_gets_its_zeros_back(tmp_path):
    files_in(tmp_path, {3 * FILE: 0})
    assert found(tmp_path) == {3 * FILE: bytes(FILE)}


@pytest.mark.parametrize("short", [0, FILE])
@pytest.mark.parametrize("size", [1, 416, FILE - 1])
def test_a_file_that_lost_its_size_gets_its_zeros_back(tmp_path, short, size):
    sizes = {0: FILE, FILE: FILE, 2 * FILE: FILE} | {short: size}
    files_in(tmp_path, sizes)
    assert found(tmp_path)[short] == b"\1" * size + bytes(FILE - size)


@pytest.mark.parametrize(
    "sizes",
    [
        {0: 2048, 2048: 2048},
        {0: 8192},
        {0: 8192, 8192: 8192},
        {0: FILE, FILE: 8192},
        {2048: FILE, 6000: FILE},
    ],
)
def test_files_of_another_setting_are_refused(tmp_path, sizes):
    files_in(tmp_path, sizes)
    with pytest.raises(StoreError, match=r"bytes, the setting says 4096: set the file size"):
        found(tmp_path)
    assert {int(path.name): path.stat().st_size for path in tmp_path.iterdir()} == sizes


def test_a_single_complete_file_of_a_smaller_setting_is_refused(tmp_path):
    (tmp_path / f"{0:020d}").write_bytes(struct.pack(">ii", 2048, MAGIC_BLANK) + bytes(2040))
    with pytest.raises(StoreError, match="has 2048 bytes, the setting says 4096"):
        found(tmp_path)


def test_missing_files_stop_the_start(tmp_path):
    files_in(tmp_path, {FILE: FILE, 4 * FILE: FILE})
    with pytest.raises(
        StoreError, match=rf"2 files .* are missing .*: {2 * FILE:020d}, {3 * FILE:020d}\. Put them back"
    ) as caught:
        found(tmp_path)
    assert f"mqframe store recover {tmp_path.parent} --accept-loss" in str(caught.value)
    assert len(list(tmp_path.iterdir())) == 2


def test_missing_files_are_made_of_zeros_where_their_loss_is_accepted(tmp_path):
    files_in(tmp_path, {FILE: FILE, 4 * FILE: FILE})
    restore_missing(tmp_path, FILE)
    assert found(tmp_path) == {
        FILE: b"\1" * FILE,
        2 * FILE: bytes(FILE),
        3 * FILE: bytes(FILE),
        4 * FILE: b"\1" * FILE,
    }


def test_parts_of_different_logs_are_refused_whatever_is_accepted(tmp_path):
    files_in(tmp_path, {0: FILE, 10**15 * FILE: FILE})
    with pytest.raises(StoreError, match="parts of different logs"):
        restore_missing(tmp_path, FILE)
