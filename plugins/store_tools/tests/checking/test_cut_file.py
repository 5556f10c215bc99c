"""The messages in a file of what was cut off a log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from mqframe_replication.store.cutting import cut_log
from mqframe_store_tools.checking.cut_file import cut_messages, is_cut_file

from mqframe.core.errors import SettingError
from mqframe.hooks.manager import PluginManager


@pytest.fixture
def cut(opened, message, tmp_path) -> Path:
    """Of 30 messages in files of 4 KiB those from the fifth on."""
    store = opened(commit_log_file_bytes=4096)
    places = [store.writes.put(message("t", 0, b"%d" % n * 300)).commit_log_offset for n in range(30)]
    store.dispatch.now()
    asyncio.run(store.stop())
    made = cut_log(tmp_path / "store", places[5], PluginManager().cut_backs(), why="a test", now_ms=1)
    return tmp_path / "store/cut" / made.file


def test_messages_come_across_the_ends_of_files(cut: Path) -> None:
    found = [(each.queue_offset, each.body) for each in cut_messages(cut)]
    assert found == [(n, b"%d" % n * 300) for n in range(5, 30)]


def test_damage_ends_them(cut: Path) -> None:
    raw = bytearray(cut.read_bytes())
    at = raw.find(b"7" * 100)
    raw[at] ^= 1
    cut.write_bytes(raw)
    assert [each.queue_offset for each in cut_messages(cut)] == [5, 6]


def test_other_files_are_named(cut: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("x")
    assert not is_cut_file(other)
    with pytest.raises(SettingError, match=r"notes\.txt is no file with what was cut off a log"):
        next(cut_messages(other))
    named = tmp_path / "x.records"
    named.write_text("x")
    with pytest.raises(SettingError, match=r"OFFSET-N\.records"):
        next(cut_messages(named))
