"""When queues and index list what was appended."""

from __future__ import annotations

import errno
import os

import pytest
from stores import put

from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages.java_hash import java_hash
from mqframe.store.incoming import GetStatus


def test_nothing_is_seen_before_dispatch(opened, message):
    store = opened()
    store.put(message())
    assert store.queue_max("t", 0) == 0
    assert store.get("t", 0, 0, 1).status is GetStatus.NO_MESSAGE_IN_QUEUE
    store.dispatch()
    assert store.queue_max("t", 0) == 1


def test_arrivals_are_told_once_a_queue_and_turn(opened, message):
    told = []
    store = opened(options={"on_arrival": lambda *args: told.append(args)})
    put(store, message(TAGS="a"), message("u", 1), message(TAGS="b"))
    assert told == [("t", 0, 2, [java_hash("a"), java_hash("b")]), ("u", 1, 1, [0])]


def test_disk_full_while_opening_the_index(opened, message):
    full = [True]

    def allocate(descriptor, size):
        if size == 40 + 4000 and full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")

    store = opened(options={"allocate": allocate_with_size(allocate)})
    put(store, message(KEYS="k"))
    assert "queue or index files cannot be written" in str(store.refusal())
    with pytest.raises(StoreUnavailable, match="queue or index files cannot be written"):
        store.put(message())
    full[0] = False
    (second,) = put(store, message(KEYS="k"))
    assert store.refusal() is None
    assert second.queue_offset == 1
    assert store.queue_max("t", 0) == 2
    assert len(store.query("t", "k", 9).records) == 2


def allocate_with_size(check):
    def allocate(descriptor, size):
        check(descriptor, size)
        os.ftruncate(descriptor, max(size, os.fstat(descriptor).st_size))

    return allocate
