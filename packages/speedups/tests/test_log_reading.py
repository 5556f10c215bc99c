"""Where logs are read natively, and where they are left to Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_index.store.indexing import FileIndexing
from mqframe_speedups.log_reading import NativeLogReading
from mqframe_speedups.switch import SWITCH
from mqframe_store_tools.checking.log_reading import installed_reading
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from small_store import fill

from mqframe.core.storage.log_reading import LogRuns
from mqframe.hooks.interfaces.key_index import KeyIndexPlace
from mqframe.store.message_store import MessageStore


class OtherIndex:
    """An index of somebody else's."""

    repeat_from = 0

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        pass

    def write(self) -> None:
        pass


def log_at(root: Path) -> memoryview:
    fill(root)
    return memoryview((root / "commitlog" / "00000000000000000000").read_bytes())


def test_it_reads_what_is_ordinary(tmp_path: Path) -> None:
    view = log_at(tmp_path)
    said = NativeLogReading(None).read(view, 0, 0, (), crc=True)
    assert isinstance(said, LogRuns)
    assert [(key, first) for key, first, _, _ in said.runs] == [(("t", 0), 0), (("t", 1), 0)]
    assert len(said.keys) == 0
    following = NativeLogReading(None).read(view, said.last, 0, (), crc=True)
    assert following is not None
    assert (following.records, following.end) == (1, said.end)
    assert NativeLogReading(None).read(view, said.end, 0, (), crc=True) is None
    assert NativeLogReading(None).read(view, 0, 0, ("t",), crc=True) is None


def test_the_index_gets_keys_that_it_has_not(tmp_path: Path) -> None:
    view = log_at(tmp_path / "store")
    place = KeyIndexPlace(tmp_path, lambda descriptor, size: None, lambda: 1)
    index = FileIndexing(IndexSettings(slots=10, entries=100)).open(place)
    assert index is not None
    reader = NativeLogReading(index)
    said = reader.read(view, 0, 0, (), crc=True)
    assert said is not None
    index.add("", said.keys, said.stored)
    index.write()
    assert len(said.keys) == 3 * said.records
    assert index.covered == said.last
    index.rewind(said.last)
    again = reader.read(view, 0, 0, (), crc=True)
    assert again is not None
    assert len(again.keys) == 3
    index.close()


def test_another_index_has_python_read(tmp_path: Path) -> None:
    assert NativeLogReading(OtherIndex()).read(log_at(tmp_path), 0, 0, (), crc=True) is None


def test_it_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    assert NativeLogReading(None).read(log_at(tmp_path), 0, 0, (), crc=True) is None


def test_tools_find_it(tmp_path: Path) -> None:
    assert installed_reading() is NativeLogReading
    settings = fill(tmp_path, stop=False)
    store = MessageStore.open(settings, ManualClock(), log_reading=installed_reading())
    assert store.recovered.records == 60
    store.abandon()


async def test_the_start_of_a_broker_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []
    read = NativeLogReading.read

    def noted(
        reading: NativeLogReading, buffer: memoryview, at: int, base: int, *arguments: Any, **options: Any
    ) -> LogRuns | None:
        places.append(base + at)
        return read(reading, buffer, at, base, *arguments, **options)

    monkeypatch.setattr(NativeLogReading, "read", noted)
    async with ClusterScene(topics={"t": 1}) as scene:
        await scene.client.ok_send("t", "UNIQ_KEY\x01K\x02")
        end = scene.cluster.broker.store.log.max_offset
        places.clear()
        await scene.cluster.restart_broker()
        assert places == [end]
