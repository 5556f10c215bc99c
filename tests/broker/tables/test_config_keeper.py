"""Tables of a broker as files: saved when they changed, loaded whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.tables.config_keeper import ConfigKeeper
from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.errors import StoreError
from mqframe.core.wire.loose_json import decode


class Kept:
    """A keeper with topics, saved at once, and offsets, saved in time."""

    def __init__(self, directory: Path) -> None:
        clock = ManualClock()
        self.topics = TopicTable(clock)
        self.offsets = OffsetTable(clock)
        self.more = TopicTable(clock)
        self.keeper = ConfigKeeper(directory, ManualClock())
        self.keeper.keep("topics.json", TopicConfigTable, self.topics, at_once=True)
        self.keeper.keep("consumerOffset.json", ConsumerOffsetTable, self.offsets)


async def on_disk() -> bool:
    """All of the log is on disk already."""
    return True


async def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.topics.put(TopicConfig(topic_name="t", read_queue_nums=3))
    kept.offsets.commit("g", "t", 1, 17)
    await kept.keeper.save_tables()
    await kept.keeper.save_rest(on_disk)
    kept.keeper.close()
    again = Kept(tmp_path)
    again.keeper.load()
    assert again.topics.need("t").read_queue_nums == 3
    assert again.offsets.query("g", "t", 1) == 17


async def test_an_older_state_never_replaces_a_newer_one(tmp_path: Path) -> None:
    """Of two saves at once, the one that began first has to wait longer for the log."""
    kept, flushed = Kept(tmp_path), asyncio.Event()

    async def late() -> bool:
        await flushed.wait()
        return True

    kept.offsets.commit("g", "t", 1, 17)
    older = asyncio.ensure_future(kept.keeper.save_rest(late))
    await asyncio.sleep(0)
    kept.offsets.commit("g", "t", 1, 18)
    newer = asyncio.ensure_future(kept.keeper.save_rest(on_disk))
    for _ in range(5):
        await asyncio.sleep(0)
    flushed.set()
    assert (await older, await newer) == (True, True)
    kept.keeper.close()
    again = Kept(tmp_path)
    again.keeper.load()
    assert again.offsets.query("g", "t", 1) == 18
    again.keeper.close()


def names_in(directory: Path) -> list[str]:
    """The files of tables, without what is beside them."""
    return sorted(path.name for path in directory.iterdir() if path.suffix != ".sum")


async def test_a_table_that_was_missing_is_made_where_it_is_asked_for(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.keeper.load()
    assert kept.keeper.missing == {"topics.json", "consumerOffset.json"}
    kept.keeper.make(["other.json"])
    await kept.keeper.save_rest(on_disk)
    assert names_in(tmp_path) == []
    kept.keeper.make(["consumerOffset.json"])
    await kept.keeper.save_rest(on_disk)
    assert names_in(tmp_path) == ["consumerOffset.json"]
    kept.keeper.close()
    again = Kept(tmp_path)
    again.keeper.load()
    assert again.keeper.missing == {"topics.json"}
    again.keeper.close()


async def test_a_digit_of_progress_that_flipped_is_not_believed(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for offset in (100, 117):
        kept.offsets.commit("g", "t", 1, offset)
        await kept.keeper.save_rest(on_disk)
    kept.keeper.close()
    path = tmp_path / "consumerOffset.json"
    path.write_bytes(path.read_bytes().replace(b"117", b"917"))
    again = Kept(tmp_path)
    again.keeper.load()
    assert again.offsets.query("g", "t", 1) == 100
    again.keeper.close()


async def test_only_what_changed_is_written(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    assert await kept.keeper.save_tables()
    await kept.keeper.save_rest(on_disk)
    # One that never changed is there for tools after the first start, if it is kept at once.
    assert names_in(tmp_path) == ["topics.json"]
    (tmp_path / "topics.json").unlink()
    assert await kept.keeper.save_tables()
    assert names_in(tmp_path) == []
    kept.topics.put(TopicConfig(topic_name="t"))
    assert await kept.keeper.save_tables()
    assert (tmp_path / "topics.json").exists()
    kept.keeper.close()


async def test_what_a_full_disk_refuses_is_saved_later(tmp_path: Path, caplog: Any) -> None:
    directory = tmp_path / "config"
    directory.write_text("in the way")
    kept = Kept(directory)
    kept.offsets.commit("g", "t", 0, 5)
    assert not await kept.keeper.save_tables()
    await kept.keeper.save_rest(on_disk)
    directory.unlink()
    assert await kept.keeper.save_tables()
    await kept.keeper.save_rest(on_disk)
    kept.keeper.close()
    assert names_in(directory) == ["consumerOffset.json", "topics.json"]


class Disk:
    """Syncs files when the test lets it. `syncs`: how many contents of files it was given."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.turns = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)
        self.syncs = 0
        self.fails = False
        patch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return
        self.syncs += 1
        self.begun.release()
        assert self.turns.acquire(timeout=120)
        if self.fails:
            raise OSError(errno.EIO, "Input/output error")

    async def busy(self) -> None:
        """Return when a file waits for the disk."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=120)

    def go_on(self) -> None:
        self.turns.release()


def topics_on_disk(directory: Path) -> set[str]:
    table = decode((directory / "topics.json").read_bytes(), TopicConfigTable)
    return set(table.topic_config_table)


async def test_changes_that_come_while_one_save_waits_for_the_disk_share_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, disk = Kept(tmp_path), Disk(monkeypatch)
    kept.topics.put(TopicConfig(topic_name="a"))
    first = asyncio.ensure_future(kept.keeper.save_tables())
    await disk.busy()
    same = kept.keeper.end_turn()
    assert same is not None
    later = []
    for name in ("b", "c"):
        kept.topics.put(TopicConfig(topic_name=name))
        later.append(kept.keeper.end_turn())
        later.append(asyncio.ensure_future(kept.keeper.save_tables()))
    disk.go_on()
    assert (await first, await same) == (True, True)
    await disk.busy()
    assert topics_on_disk(tmp_path) == {"a"}
    assert not any(each.done() for each in later if each is not None)
    disk.go_on()
    assert await asyncio.gather(*(each for each in later if each is not None)) == [True] * 4
    assert topics_on_disk(tmp_path) == {"a", "b", "c"}
    assert disk.syncs == 2
    assert kept.keeper.end_turn() is None
    assert await kept.keeper.save_tables()
    assert disk.syncs == 2
    kept.keeper.close()


async def test_a_change_that_could_not_be_saved_holds_up_no_later_turn_and_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    kept, disk = Kept(tmp_path), Disk(monkeypatch)
    table = kept.keeper.keep("more.json", TopicConfigTable, kept.more, at_once=True)
    disk.fails = True
    kept.topics.put(TopicConfig(topic_name="a"))
    assert kept.keeper.wait_for(table), "its first save is still to come"
    turn = kept.keeper.end_turn()
    assert turn is not None
    disk.turns.release(2)
    assert not await turn
    assert kept.keeper.end_turn() is None
    assert not kept.keeper.wait_for(table), "it was tried"
    assert kept.keeper.end_turn() is None
    disk.fails = False
    kept.topics.put(TopicConfig(topic_name="b"))
    turn = kept.keeper.end_turn()
    assert turn is not None
    disk.turns.release(2)
    assert await turn
    assert topics_on_disk(tmp_path) == {"a", "b"}
    kept.keeper.close()


async def test_whoever_waits_when_the_broker_is_killed_is_never_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, disk = Kept(tmp_path), Disk(monkeypatch)
    kept.topics.put(TopicConfig(topic_name="a"))
    under_way = asyncio.ensure_future(kept.keeper.save_tables())
    await disk.busy()
    kept.topics.put(TopicConfig(topic_name="b"))
    waiting = kept.keeper.end_turn()
    assert waiting is not None
    disk.go_on()
    kept.keeper.close()
    with pytest.raises(asyncio.CancelledError):
        await under_way
    assert waiting.cancelled()
    assert topics_on_disk(tmp_path) == {"a"}


async def test_a_table_that_cannot_be_written_out_is_a_failed_save(tmp_path: Path, caplog: Any) -> None:
    class Broken(TopicTable):
        def dump(self) -> TopicConfigTable:
            raise RuntimeError("odd")

    keeper = ConfigKeeper(tmp_path, ManualClock())
    keeper.keep("broken.json", TopicConfigTable, Broken(ManualClock()), at_once=True)
    assert not await keeper.save_tables()
    assert "tables were not saved" in caplog.text
    keeper.close()


async def test_progress_is_saved_behind_the_log_that_it_speaks_of(tmp_path: Path, caplog: Any) -> None:
    kept = Kept(tmp_path)
    kept.offsets.commit("g", "t", 0, 5)
    path, steps = tmp_path / "consumerOffset.json", []

    async def flushed() -> bool:
        steps.append(path.exists())
        kept.offsets.commit("g", "t", 0, 9)  # of records that this flush does not hold
        return True

    async def failed() -> bool:
        steps.append(path.exists())
        return False

    assert not await kept.keeper.save_rest(failed)
    assert not await kept.keeper.save_rest(failed)
    assert caplog.text.count("progress is not saved any more") == 1
    assert not path.exists()
    assert await kept.keeper.save_rest(flushed)
    assert steps == [False, False, False]
    again = Kept(tmp_path)
    again.keeper.load()
    assert again.offsets.query("g", "t", 0) == 5
    assert await kept.keeper.save_rest(on_disk), "9 comes behind the next flush"
    again.keeper.load()
    assert again.offsets.query("g", "t", 0) == 9
    assert await kept.keeper.save_rest(failed), "nothing changed, so nothing is waited for"
    kept.keeper.close()
    again.keeper.close()


TOPIC = b'{"topicConfigTable":{"t":{"topicName":"t",%s}}}'


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"topicConfigTable":' + b'{"a":' * 5000,
        b'{"topicConfigTable":{"../up":{}}}',
        b'{"topicConfigTable":{"t":{"topicName":"u"}}}',
        TOPIC % b'"perm":"all"',
        TOPIC % b'"perm":[6]',
        TOPIC % b'"readQueueNums":1000000000000',
        TOPIC % b'"writeQueueNums":-1',
    ],
    ids=lambda content: content[:60].decode(),
)
@pytest.mark.parametrize("name", ["topics.json", "topics.json.bak"])
async def test_what_cannot_be_read_stops_the_start_and_is_not_saved_over(
    tmp_path: Path, content: bytes, name: str
) -> None:
    (tmp_path / name).write_bytes(content)
    kept = Kept(tmp_path)
    with pytest.raises(StoreError, match=f"{name} is broken"):
        kept.keeper.load()
    kept.offsets.commit("g", "t", 1, 17)
    await kept.keeper.save_tables()
    await kept.keeper.save_rest(on_disk)
    kept.keeper.close()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, content)]


def test_the_backup_is_taken_where_the_table_refuses_the_file(tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_bytes(TOPIC % b'"readQueueNums":-1')
    (tmp_path / "topics.json.bak").write_bytes(TOPIC % b'"readQueueNums":3')
    kept = Kept(tmp_path)
    kept.keeper.load()
    assert kept.topics.need("t").read_queue_nums == 3
    kept.keeper.close()


def test_a_file_that_no_first_save_completed_leaves_the_table_empty(tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_bytes(b"")
    kept = Kept(tmp_path)
    kept.keeper.load()
    assert kept.topics.find("t") is None
    kept.keeper.close()


async def test_what_is_not_vital_stops_no_start(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(b"{")
    keeper, topics = ConfigKeeper(tmp_path, ManualClock()), TopicTable(ManualClock())
    keeper.keep("list.json", TopicConfigTable, topics, vital=False)
    keeper.load()
    topics.put(TopicConfig(topic_name="t"))
    await keeper.save_rest(on_disk)
    keeper.close()
    assert b'"t"' in (tmp_path / "list.json").read_bytes()
