"""When queues, index and checkpoint go to disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from file_calls import fails, instead
from indexed import small_index

from mqframe.core.storage.recovery import Care
from mqframe.store.files.disk import Disk
from mqframe.store.files.layout import Layout
from mqframe.store.files.threads import Threads
from mqframe.store.message_files import open_files
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.upkeep.queue_flusher import QueueFlusher, sync_paths

ENTRIES_OF_PAGES = 2 * 4096 // 20 + 1


@pytest.fixture
def synced(monkeypatch, tmp_path) -> list[str]:
    """Names of the files that were synced, without their folders' path."""
    paths: list[str] = []

    def sync(fdatasync: Callable[[int], None], descriptor: int) -> None:
        paths.append("/".join(os.readlink(f"/proc/self/fd/{descriptor}").split("/")[-3:]))
        fdatasync(descriptor)

    instead(monkeypatch, tmp_path, "fdatasync", sync)
    return paths


@pytest.fixture
def world(tmp_path, small, clock):
    """Files of a store with 2 pages at least a flush, all of them each 60 s; dispatched up to time 1234."""
    settings = small(tmp_path, queue_flush_pages_min=2, queue_flush_thorough_ms=60_000)
    threads = Threads()
    files = open_files(
        Layout(tmp_path), settings, Disk(), threads, clock.now_ms, Care.USUAL, open_index=small_index()
    )
    flusher = QueueFlusher(files, settings, clock, threads, SimpleNamespace(done=0, done_timestamp=1234))
    yield SimpleNamespace(files=files, flusher=flusher)
    files.close()


def write(world, topic: str, count: int) -> None:
    queue = world.files.queues.queue(topic, 0)
    queue.write(queue.end, ENTRY.pack(0, 10, 0) * count, 10)
    world.files.queues.dirty.add(queue)


def test_only_queues_with_enough_dirty_pages_are_synced(world, synced, clock) -> None:
    write(world, "full", ENTRIES_OF_PAGES)
    write(world, "few", 1)
    world.flusher.flush()
    assert synced == ["full/0/00000000000000000000"]
    world.flusher.flush()
    assert len(synced) == 1
    assert {queue.topic for queue in world.files.queues.dirty} == {"few"}
    assert world.files.checkpoint.queues == 0


def test_from_time_to_time_everything_is_synced_and_the_checkpoint_says_so(world, synced, clock) -> None:
    write(world, "few", 1)
    world.files.key_index.add("t", [(0, ("k",))], clock.now_ms())
    world.files.key_index.write()
    clock.advance(60)
    world.flusher.flush()
    index = f"{world.files.key_index.files[0].path.name}"
    first = [index, "00000000000000000000"]
    assert [name.rpartition("/")[2] for name in synced] == [*first, "checkpoint"]
    assert not world.files.queues.dirty
    assert (world.files.checkpoint.log, world.files.checkpoint.queues) == (1234, 1234)


def test_a_failing_disk_moves_no_checkpoint(world, monkeypatch, clock, caplog, tmp_path) -> None:
    instead(monkeypatch, tmp_path, "fdatasync", fails(errno.EIO))
    write(world, "few", 1)
    clock.advance(60)
    world.flusher.flush()
    assert "files could not be flushed; the checkpoint stays" in caplog.text
    assert (world.files.checkpoint.log, world.files.checkpoint.queues) == (0, 0)


def test_what_a_failing_disk_did_not_take_stays_dirty_and_the_checkpoint_stays_for_good(
    world, monkeypatch, clock, tmp_path
) -> None:
    write(world, "few", 1)
    clock.advance(60)
    with monkeypatch.context() as broken:
        instead(broken, tmp_path, "fdatasync", fails(errno.EIO))
        world.flusher.flush()
    (queue,) = world.files.queues.dirty
    assert (queue.topic, queue.dirty_bytes) == ("few", 20)
    assert (tmp_path / "sync-failed").exists()
    clock.advance(60)
    world.flusher.flush()
    assert not world.files.queues.dirty
    # The second sync succeeded: the kernel has forgotten what it could not write.
    assert (world.files.checkpoint.log, world.files.checkpoint.queues) == (0, 0)
    assert not (tmp_path / "checkpoint").exists()


def test_names_of_new_queues_are_on_disk_before_the_checkpoint(world, monkeypatch, clock, tmp_path) -> None:
    folders: list[str] = []
    monkeypatch.setattr(
        "mqframe.store.upkeep.queue_flusher.sync_directory",
        lambda folder: folders.append(os.path.relpath(folder, tmp_path)),
    )
    write(world, "few", 1)
    clock.advance(60)
    checkpoints: list[list[str]] = []
    monkeypatch.setattr(world.files.checkpoint.__class__, "save", lambda *_: checkpoints.append([*folders]))
    world.flusher.flush()
    assert folders == ["consumequeue/few/0", "consumequeue/few", "consumequeue"]
    assert checkpoints == [folders]
    clock.advance(60)
    write(world, "few", 1)
    world.flusher.flush()
    assert len(folders) == 3


def test_at_the_stop_all_that_is_dirty_is_synced(world, synced) -> None:
    write(world, "few", 1)
    world.flusher.flush_all()
    assert synced == ["few/0/00000000000000000000"]
    assert not world.files.queues.dirty


def test_very_many_files_are_synced_with_one_call_and_missing_ones_passed_over(
    tmp_path, monkeypatch, synced
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(
        "mqframe.store.upkeep.queue_flusher.sync_file_system", lambda folder: calls.append(str(folder))
    )
    (tmp_path / "there").write_bytes(b"x")
    sync_paths([str(tmp_path / "gone"), str(tmp_path / "there")])
    assert [name.rpartition("/")[2] for name in synced] == ["there"]
    sync_paths([str(tmp_path / "there")] * 257)
    assert (calls, len(synced)) == ([str(tmp_path)], 1)
    sync_paths([str(tmp_path / "gone")] * 257)
    assert len(calls) == 1
