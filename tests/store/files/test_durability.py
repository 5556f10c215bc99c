"""One error of the disk, met by anybody, ends the durability of the log."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from file_calls import fails, instead

from mqframe.core.errors import StoreUnavailable
from mqframe.store.files.durability import Durability, SyncFailure, noted_failure


class Kernel:
    """Syncs as a kernel does: what could not be written is told once, and counts as written then.

    `failing`: part of the path of the file whose next sync fails; `synced`: paths of those that succeeded.
    """

    def __init__(self) -> None:
        self.failing = ""
        self.synced: list[str] = []

    def __call__(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if self.failing and self.failing in path:
            self.failing = ""
            raise OSError(errno.EIO, "Input/output error")
        self.synced.append(path)
        os.fdatasync(descriptor)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def test_the_first_failure_stays_and_is_noted(tmp_path) -> None:
    durability = Durability(tmp_path / "mark")
    durability.reached = lambda: 4711
    assert (durability.failure, durability.trusted) == (None, True)
    durability.check()
    problem = OSError(errno.EIO, "Input/output error")
    failure = durability.lost("commitlog/0", problem)
    assert str(failure) == "commitlog/0 could not be flushed: Input/output error; check the disk and restart"
    assert durability.lost("commitlog/1", OSError(errno.ENOSPC, "full")) is failure
    assert (durability.failure, durability.trusted) == (failure, False)
    with pytest.raises(OSError, match="Input/output error"):
        durability.check()
    assert noted_failure(tmp_path / "mark") == SyncFailure(4711, f"commitlog/0: {problem}")


def test_a_failure_of_derived_files_stops_no_writes(tmp_path) -> None:
    durability = Durability(tmp_path / "mark")
    durability.distrust("consumequeue/t/0", OSError(errno.EIO, "Input/output error"))
    assert (durability.failure, durability.trusted) == (None, False)
    durability.check()
    assert noted_failure(tmp_path / "mark").reason.startswith("consumequeue/t/0: ")


def test_a_mark_that_cannot_be_made_or_read(tmp_path, caplog) -> None:
    durability = Durability(tmp_path / "no-folder" / "mark")
    durability.lost("commitlog/0", OSError(errno.EIO, "Input/output error"))
    assert "the failure could not be noted" in caplog.text
    assert noted_failure(tmp_path / "mark") is None
    for broken in (b"{", b'{"flushed":7,"reason":"\xb4"}'):
        (tmp_path / "mark").write_bytes(broken)
        assert noted_failure(tmp_path / "mark").flushed == 0, "then all of the log is written anew"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0)


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
async def test_an_error_that_the_flush_of_queues_meets_ends_the_log(
    opened, message, clock, kernel, flush, tmp_path
) -> None:
    store = opened(flush=flush, flush_thorough_ms=10**9, options={"sync": kernel})
    store.start()
    told: list[bool] = []
    store.writes.put(message(body=b"good"))
    assert await store.confirming.flush_log()
    good = store.log.max_offset
    store.writes.put(message(body=b"lost"))
    kernel.failing = "commitlog/0"
    # The queue flusher's thorough pass syncs the log before anybody else does.
    store._queue_flusher._last_thorough = -(10**9)
    store._queue_flusher.flush()
    await until(lambda: store.disk.trouble != "")
    store.confirming.when_confirmed(store.log.max_offset + 1, told.append)
    assert told == [False]
    with pytest.raises(StoreUnavailable, match="could not be flushed: Input/output error; check the di"):
        store.writes.put(message())
    assert not await store.confirming.flush_log()
    assert store.log.flushed_offset == good
    await clock.aadvance(120)
    assert store.log.flushed_offset == good
    await store.stop()
    assert (tmp_path / "store/abort").exists()
    assert not (tmp_path / "store/queue-ends").exists()
    assert (tmp_path / "store/sync-failed").exists()


async def test_those_who_wait_are_told_whoever_met_the_error(opened, message, clock) -> None:
    gate = threading.Event()

    def held(descriptor: int) -> None:
        assert gate.wait(20)
        os.fdatasync(descriptor)

    store = opened(flush="SYNC_FLUSH", sync_flush_timeout_ms=10**9)
    store.writes.put(message())  # so that there is a file
    store.start()
    store.refusals.durability.sync = held
    told: list[bool] = []
    store.confirming.when_confirmed(store.writes.put(message()).end_offset, told.append)
    waits = asyncio.ensure_future(store.confirming.flush_log())
    await asyncio.sleep(0)
    store.refusals.durability.lost("commitlog/0", OSError(errno.EIO, "Input/output error"))
    await clock.aadvance(0.6)
    assert told == [False]
    assert not await waits
    gate.set()
    await store.stop()


async def test_an_error_at_the_stop_leaves_an_unclean_end(opened, message, kernel, tmp_path, caplog) -> None:
    async def scenario(failing: str) -> None:
        store = opened(options={"sync": kernel})
        store.start()
        store.writes.put(message())
        store.dispatch.now()
        kernel.failing = failing
        await store.stop()

    for failing in ("commitlog/0", "consumequeue/t/0"):
        await scenario(failing)
        assert (tmp_path / "store/abort").exists(), failing
        assert not (tmp_path / "store/queue-ends").exists()
    await scenario("nothing")
    assert not (tmp_path / "store/abort").exists()
    assert not (tmp_path / "store/sync-failed").exists()


def test_a_record_that_cannot_be_written_ends_the_log(opened, message, monkeypatch) -> None:
    store = opened()
    store.writes.put(message(body=b"good"))

    def fail(descriptor: int, data: bytes, at: int) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", fail)
        with pytest.raises(StoreUnavailable, match="could not be flushed: Input/output error"):
            store.writes.put(message(body=b"lost"))
    with pytest.raises(StoreUnavailable, match="could not be flushed: Input/output error"):
        store.writes.put(message())


@pytest.mark.parametrize("ahead", [True, False])
async def test_an_error_when_a_file_is_made_ends_the_log(opened, message, kernel, ahead) -> None:
    store = opened(commit_log_file_bytes=4096, options={"sync": kernel})
    store.writes.put(message(body=b"x" * 3000))
    kernel.failing = ".allocating"
    if ahead:
        store.start()
        with pytest.raises(StoreUnavailable):
            await asyncio.wrap_future(store._commit_log._ahead)
    with pytest.raises(StoreUnavailable, match="could not be flushed: Input/output error; check the di"):
        store.writes.put(message(body=b"x" * 3000))
    with pytest.raises(StoreUnavailable, match="could not be flushed"):
        store.writes.put(message())
    await store.stop()


def test_the_next_start_writes_anew_what_the_disk_may_lack(opened, message, kernel, tmp_path, monkeypatch):
    first = opened(flush="SYNC_FLUSH", options={"sync": kernel})
    told: list[bool] = []
    first.confirming.when_confirmed(first.writes.put(message(body=b"good")).end_offset, told.append)
    flushed = first.log.flushed_offset
    kernel.failing = "commitlog/0"
    first.confirming.when_confirmed(first.writes.put(message(body=b"unknown")).end_offset, told.append)
    assert told == [True, False]
    first.abandon()

    written: list[tuple[str, int]] = []
    real = os.pwrite

    def pwrite(descriptor: int, data: bytes, at: int) -> int:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        written.append((path.relative_to(tmp_path / "store").as_posix(), len(data) if at <= flushed else -1))
        return real(descriptor, data, at)

    kernel.synced.clear()
    with monkeypatch.context() as watched:
        watched.setattr(os, "pwrite", pwrite)
        again = opened(options={"sync": kernel})
    name = "commitlog/00000000000000000000"
    assert (name, 1 << 20) in written, "all of it, for the kernel takes it for written"
    assert str(tmp_path / "store" / name) in kernel.synced
    assert again.queues.max_offset("t", 0) == 2
    assert again.log.flushed_offset == again.log.max_offset
    assert not (tmp_path / "store/sync-failed").exists()


def test_a_name_that_does_not_get_to_the_disk_ends_the_log(opened, message, monkeypatch, clock, tmp_path):
    """Clean-up syncs the folder beside the thread that makes files: the error is the same log's."""
    store = opened(commit_log_file_bytes=4096, delete_when=";".join(map(str, range(24))))
    for _ in range(4):
        store.writes.put(message(body=b"x" * 3000))
    oldest = min((tmp_path / "store/commitlog").iterdir())
    os.utime(oldest, (0, 0))

    instead(monkeypatch, tmp_path, "fsync", fails(errno.EIO))
    store.clean()
    with pytest.raises(StoreUnavailable, match="commitlog could not be flushed: Input/output error"):
        store.writes.put(message())
