"""In which order a store changes files and waits for the disk: at its start, running, at its stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from file_calls import instead

from mqframe.store.files.durability import SyncFailure, noted_failure
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.settling import bring_back

LOG = "commitlog/00000000000000000000"
QUEUE = "consumequeue/t/0/00000000000000000000"


def run_once(opened, message, directory: Path) -> None:
    async def scenario() -> None:
        store = opened(directory)
        store.writes.put(message())
        store.dispatch.now()
        await store.stop()

    asyncio.run(scenario())


def at(operations: list[str], first: str, *following: str) -> None:
    """`first` and all `following` are among `operations`, in this order."""
    place = -1
    for each in (first, *following):
        assert each in operations[place + 1 :], (each, operations[place + 1 :])
        place = operations.index(each, place + 1)


def test_the_mark_of_an_unclean_end_is_on_disk_before_anything_is_changed(
    opened, message, tmp_path, operations
) -> None:
    run_once(opened, message, tmp_path)
    assert (tmp_path / "queue-ends").exists()
    operations.clear()
    opened(tmp_path)
    assert operations == [
        "fsync abort.tmp", "replace abort", "fsync .",
        "unlink dispatched", "unlink sync-failed", "fsync .",
    ]  # fmt: skip


def test_a_new_log_file_is_on_disk_before_it_has_its_name(opened, message, tmp_path, operations) -> None:
    store = opened(tmp_path)
    operations.clear()
    store.writes.put(message())
    assert operations == [
        "fdatasync commitlog/00000000000000000000.allocating", f"rename {LOG}", "fsync commitlog",
    ]  # fmt: skip


async def test_an_orderly_stop_is_noted_last(opened, message, tmp_path, operations) -> None:
    store = opened(tmp_path)
    store.writes.put(message(KEYS="k"))
    store.dispatch.now()
    operations.clear()
    await store.stop()
    index = f"index/{next((tmp_path / 'index').iterdir()).name}"
    assert operations == [
        f"fdatasync {LOG}",
        f"fdatasync {index}",
        f"fdatasync {QUEUE}",
        "fsync index", "fsync consumequeue/t/0", "fsync consumequeue/t", "fsync consumequeue",
        "fdatasync checkpoint",
        "fsync queue-ends.tmp", "replace queue-ends", "fsync .",
        "unlink abort", "fsync .",
    ]  # fmt: skip


def test_what_a_killed_process_left_in_memory_is_synced_before_it_counts(
    opened, message, tmp_path, operations
) -> None:
    store = opened(tmp_path)
    store.writes.put(message())
    store.dispatch.now()
    store.abandon()
    operations.clear()
    again = opened(tmp_path)
    assert again.log.flushed_offset == again.log.max_offset > 0
    at(operations, "replace abort", f"fdatasync {LOG}", "fsync commitlog", f"fdatasync {QUEUE}")
    at(
        operations,
        f"fdatasync {QUEUE}",
        "fsync consumequeue/t/0",
        "fsync consumequeue/t",
        "fsync consumequeue",
    )
    assert operations[-2:] == ["unlink sync-failed", "fsync ."]


def test_only_what_was_not_flushed_is_written_anew_and_holes_stay(tmp_path, monkeypatch) -> None:
    layout = Layout(tmp_path)
    block = 1 << 20
    for folder in (layout.commit_log, layout.queues / "t" / "0", layout.index, layout.timer_log):
        folder.mkdir(parents=True)
    old, new = layout.commit_log / f"{0:020d}", layout.commit_log / f"{4 * block:020d}"
    old.write_bytes(b"o" * 4 * block)
    new.write_bytes(b"n" * 4 * block)
    sparse = layout.queues / "t" / "0" / f"{0:020d}"
    with open(sparse, "wb") as file:
        file.truncate(8 * block)
        file.write(b"entries")
    layout.timer_wheel.write_bytes(b"wheel")
    assert not bring_back(layout)
    layout.sync_failed.write_bytes(b'{"flushed": 5242980, "reason": "commitlog/0: EIO"}')
    assert noted_failure(layout.sync_failed) == SyncFailure(5 * block + 100, "commitlog/0: EIO")
    written: dict[str, list[tuple[int, int]]] = {}

    def pwrite(real: Callable[..., int], descriptor: int, data: bytes, at: int) -> int:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        written.setdefault(path.relative_to(tmp_path).as_posix(), []).append((at, len(data)))
        return real(descriptor, data, at)

    before = {path: path.read_bytes() for path in (old, new, sparse, layout.timer_wheel)}
    instead(monkeypatch, tmp_path, "pwrite", pwrite)
    assert bring_back(layout)
    assert written.pop("timerwheel") == [(0, 5)]
    queue = written.pop(sparse.relative_to(tmp_path).as_posix())
    assert sum(size for _, size in queue) <= block
    assert written == {f"commitlog/{new.name}": [(block, block), (2 * block, block), (3 * block, block)]}
    assert {path: path.read_bytes() for path in before} == before
    assert layout.sync_failed.exists(), "until all of it is on disk"


def test_very_many_queues_of_a_killed_process_are_synced_with_one_call(
    opened, message, tmp_path, operations, monkeypatch
) -> None:
    store = opened(tmp_path)
    for queue_id in range(65):
        store.writes.put(message(queue_id=queue_id))
    store.dispatch.now()
    store.abandon()
    operations.clear()
    monkeypatch.setattr(
        "mqframe.store.upkeep.settling.sync_file_system", lambda folder: operations.append(f"all {folder}")
    )
    opened(tmp_path)
    at(operations, f"fdatasync {LOG}", "fsync commitlog", f"all {tmp_path}", "unlink sync-failed")
    assert f"fdatasync {QUEUE}" not in operations
