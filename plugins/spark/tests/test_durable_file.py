"""Files that appear all at once, and one process at a time."""

import errno
import os

import pytest
from file_calls import fails, instead
from mqframe_spark import durable_file
from mqframe_spark.durable_file import only_one, store_id, write_durably

from mqframe.core.errors import RetryError


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000])
def test_all_of_it_is_written_whatever_its_size(tmp_path, monkeypatch, size) -> None:
    monkeypatch.setattr(durable_file, "PIECE_BYTES", 8)
    content = os.urandom(size)
    write_durably(tmp_path / "file", b"before")
    write_durably(tmp_path / "file", memoryview(content))
    assert (tmp_path / "file").read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    write_durably(tmp_path / "file", b"before")
    instead(monkeypatch, tmp_path, "fdatasync", fails(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        write_durably(tmp_path / "file", b"after")
    assert (tmp_path / "file").read_bytes() == b"before"


def test_a_second_process_waits_and_then_gives_up(tmp_path) -> None:
    with (
        only_one(tmp_path, 0),
        pytest.raises(RetryError, match="another process still"),
        only_one(tmp_path, 0.1),
    ):
        pass
    with only_one(tmp_path, 0):
        pass


def test_the_id_of_a_store_stays(tmp_path) -> None:
    made = store_id(tmp_path)
    assert len(made) == 8
    assert store_id(tmp_path) == made
    (tmp_path / "other").mkdir()
    assert store_id(tmp_path / "other") != made
