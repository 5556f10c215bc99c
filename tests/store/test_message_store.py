from __future__ import annotations

import errno
import gc
import itertools
import threading

import pytest
from file_calls import fails, instead
from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock
from stores import bodies, open_below, put
from trust.seam import Seam

from mqframe.core.errors import StoreError
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import body_crc, decode_records
from mqframe.store.message_store import MessageStore


def test_first_message(opened, message, clock):
    store = opened()
    (stored,) = put(store, message("orders", 3, b"paid", TAGS="x"))
    assert stored.commit_log_offset == 0
    assert (stored.queue_offset, stored.store_timestamp) == (0, clock.now_ms())
    assert stored.end_offset == stored.size == store.log.max_offset == store.log.confirmed_offset
    found = store.reads.get("orders", 3, 0, 32)
    assert (found.status, found.next_offset, found.min_offset, found.max_offset) == (GetStatus.FOUND, 1, 0, 1)
    assert (found.count, found.size_bytes) == (1, stored.size)
    (read,) = decode_records(found.parts[0])
    assert body_crc(read.stored_body) == read.body_crc
    assert (read.topic, read.queue_id, read.body, read.tag) == ("orders", 3, b"paid", "x")
    assert read.store_host == "127.0.0.1:10911"
    assert list(store.queues) == [("orders", 3)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.binary(min_size=0, max_size=60), st.text("ab\x02\x01 é", max_size=12)), max_size=20)
)
def test_whatever_is_put_is_read(tmp_path_factory, small, message, rows):
    store = MessageStore.open(small(tmp_path_factory.mktemp("any")), ManualClock())
    try:
        for body, properties in rows:
            one = message(body=body)
            one.properties = properties
            store.writes.put(one)
        store.dispatch.now()
        read = [m for part in store.reads.get("t", 0, 0, 99).parts for m in decode_records(part)]
        assert [(m.body, m.raw_properties) for m in read] == rows
    finally:
        store.abandon()


async def test_a_store_starts_though_it_cannot_note_how_far_queues_are_written(
    opened, message, tmp_path, caplog
):
    """The mark only saves work after a kill."""
    store = opened(tmp_path)

    def before(call, path):
        if path == "/dispatched":
            raise OSError(24, "Too many open files")

    with Seam(tmp_path, before=before).in_force():
        store.start()
    put(store, message(body=b"one"))
    await store.stop()
    assert "not noted how far queues are written" in caplog.text
    assert bodies(opened(tmp_path).reads.get("t", 0, 0, 9)) == [b"one"]


@pytest.mark.parametrize("call", ["pread", "fdatasync"])
async def test_a_store_that_cannot_be_opened_leaves_nothing_open(opened, message, monkeypatch, call):
    store = opened()
    put(store, message(KEYS="k"), message("u"))
    await store.stop()
    chosen = store.settings
    (chosen.directory / "abort").write_text("")
    threads, before = set(threading.enumerate()), open_below(chosen.directory)

    def failing(number):
        calls = itertools.count()

        def fail(real, *words):
            return fails(errno.EIO)() if next(calls) == number else real(*words)

        return fail

    for number in range(3):
        with monkeypatch.context() as broken:
            instead(broken, chosen.directory, call, failing(number))
            with pytest.raises(StoreError, match="Input/output error"):
                MessageStore.open(chosen, ManualClock())
        gc.collect()
        assert open_below(chosen.directory) == before
        assert set(threading.enumerate()) <= threads
