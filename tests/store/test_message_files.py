"""The files of a store, opened together."""

from __future__ import annotations

from indexed import small_index
from stores import open_below

from mqframe.core.storage.recovery import Care
from mqframe.store.files.disk import Disk
from mqframe.store.files.layout import Layout
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import open_files


def test_a_new_store_is_empty_folders(tmp_path, small, clock) -> None:
    layout = Layout(tmp_path)
    files = open_files(
        layout, small(tmp_path), Disk(), Threads(), clock.now_ms, Care.USUAL, open_index=small_index()
    )
    assert (files.log.start, files.log.end, len(files.queues)) == (0, 0, 0)
    assert files.key_index is not None
    assert files.checkpoint.log == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["commitlog", "consumequeue", "index"]
    files.close()


def test_without_an_index_there_is_none(tmp_path, small, clock) -> None:
    settings = small(tmp_path)
    files = open_files(Layout(tmp_path), settings, Disk(), Threads(), clock.now_ms, Care.USUAL)
    assert files.key_index is None
    assert not (tmp_path / "index").exists()
    files.close()


def test_closing_writes_nothing_and_lets_go_of_all(tmp_path, small, clock) -> None:
    files = open_files(Layout(tmp_path), small(tmp_path), Disk(), Threads(), clock.now_ms, Care.USUAL)
    files.log.room(100)
    assert open_below(tmp_path)
    files.close()
    assert not open_below(tmp_path)
    assert (tmp_path / "commitlog" / f"{0:020d}").read_bytes() == bytes(1 << 20)
    assert not (tmp_path / "checkpoint").exists()
