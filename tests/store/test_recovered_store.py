"""The first part of opening a store, in any thread."""

from __future__ import annotations

import shutil
import threading

import pytest
from stores import bodies, put

from mqframe.core.errors import StoreError
from mqframe.store.message_store import MessageStore
from mqframe.store.recovered_store import recover_store
from mqframe.store.upkeep.opening_progress import OpeningProgress


class Noted(OpeningProgress):
    """Notes what it is told."""

    def __init__(self):
        super().__init__(lambda: 0.0)
        self.told = []

    def begin(self, start, end):
        self.told.append((start, end))

    def reached(self, offset):
        self.told.append(offset)

    def end(self):
        self.told.append("end")


@pytest.fixture
def settings(opened, small, message, tmp_path):
    """Of a store of 20 messages that was killed; where its log ends."""
    store = opened()
    put(store, *[message(body=b"%d" % number) for number in range(20)])
    end = store.log.max_offset
    store.abandon()
    return small(tmp_path / "store"), end


async def test_a_thread_recovers_and_a_loop_goes_on_with_it(settings, clock, message):
    found = []
    thread = threading.Thread(target=lambda: found.append(recover_store(settings[0], clock, is_copy=False)))
    thread.start()
    thread.join()

    arrived = []
    store = MessageStore.of(found[0], clock, on_arrival=lambda *arrival: arrived.append(arrival))
    store.start()
    assert store.recovered.records == 20
    put(store, message(body=b"new"))
    assert bodies(store.reads.get("t", 0, 0, 99)) == [*[b"%d" % number for number in range(20)], b"new"]
    assert [arrival[:3] for arrival in arrived] == [("t", 0, 21)]
    found[0].abandon()  # of no effect: it belongs to the store
    await store.stop()


def test_progress_goes_from_the_start_to_the_end_of_the_log(settings, clock):
    progress = Noted()
    recover_store(settings[0], clock, is_copy=False, progress=progress).abandon()
    assert progress.told == [(0, 1 << 20), settings[1], "end"]


def test_nobody_else_opens_it_until_it_is_abandoned(settings, clock, opened):
    recovered = recover_store(settings[0], clock, is_copy=False)
    with pytest.raises(StoreError, match="in use by another broker"):
        opened()
    recovered.abandon()
    recovered.abandon()
    assert opened().queues.max_offset("t", 0) == 20


def test_what_cannot_be_recovered_is_let_go(settings, clock, opened, tmp_path):
    log = tmp_path / "store" / "commitlog"
    shutil.move(log / f"{0:020d}", tmp_path / "kept")
    (log / f"{0:020d}").write_bytes(bytes(3))
    (log / f"{3 << 20:020d}").write_bytes(bytes(1 << 20))
    with pytest.raises(StoreError, match="missing between others"):
        recover_store(settings[0], clock, is_copy=False)
    shutil.rmtree(log)
    log.mkdir()
    shutil.move(tmp_path / "kept", log / f"{0:020d}")
    assert opened().queues.max_offset("t", 0) == 20


def test_a_copy_with_zeros_for_holes_and_no_checkpoint_is_what_the_store_was(
    settings, clock, opened, tmp_path, message
):
    (log,) = (tmp_path / "store" / "commitlog").iterdir()
    copied = tmp_path / "copy" / "commitlog"
    copied.mkdir(parents=True)
    (copied / log.name).write_bytes(log.read_bytes())
    (copied / f"{1 << 20:020d}").write_bytes(bytes(1 << 20))  # it was made ahead
    store = opened(tmp_path / "copy")
    assert (store.log.max_offset, store.recovered.set_aside) == (settings[1], ())
    put(store, message(body=b"new"))
    assert bodies(store.reads.get("t", 0, 0, 99)) == [*[b"%d" % number for number in range(20)], b"new"]
