"""When queues and index list what was appended."""

from __future__ import annotations

import errno
import os

import pytest
from stores import bodies, put

from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.storage.found import GetStatus


def test_nothing_is_seen_before_dispatch(opened, message):
    store = opened()
    store.writes.put(message())
    assert store.queues.max_offset("t", 0) == 0
    assert store.reads.get("t", 0, 0, 1).status is GetStatus.NO_MESSAGE_IN_QUEUE
    store.dispatch.now()
    assert store.queues.max_offset("t", 0) == 1


def test_arrivals_are_told_once_a_queue_and_turn(opened, message):
    told = []
    store = opened(options={"on_arrival": lambda *args: told.append(args)})
    put(store, message(TAGS="a"), message("u", 1), message(TAGS="b"))
    assert told == [("t", 0, 2, [java_hash("a"), java_hash("b")]), ("u", 1, 1, [0])]


def test_queues_come_in_the_order_of_their_first_messages(opened, message):
    """Appends of several messages each wait in the order of their last ones."""
    told = []
    store = opened(options={"on_arrival": lambda *args: told.append(args)})
    for each in (message(), message("u", 1), message("u", 2), message()):
        store.writes.put(each)
    waiting = store.appender.waiting
    first, *others, last = map(store.appender.describe, waiting)
    waiting.clear()
    whole = last._replace(
        queue_offset=0, entries=first.entries + last.entries, codes=[*first.codes, *last.codes]
    )
    waiting.extend([*others, whole])
    store.dispatch.now()
    assert told == [("t", 0, 2, [0, 0]), ("u", 1, 1, [0]), ("u", 2, 1, [0])]
    assert store.dispatch.listed_offset == last.end


def test_disk_full_while_opening_the_index(opened, message):
    full = [True]

    def allocate(descriptor, size):
        if size == 40 + 4000 and full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")

    store = opened(options={"allocate": allocate_with_size(allocate)})
    put(store, message(KEYS="k"))
    assert "queue or index files cannot be written" in str(store.refusals.now())
    with pytest.raises(StoreUnavailable, match="queue or index files cannot be written"):
        store.writes.put(message())
    full[0] = False
    (second,) = put(store, message(KEYS="k"))
    assert store.refusals.now() is None
    assert second.queue_offset == 1
    assert store.queues.max_offset("t", 0) == 2
    assert len(store.search.query("t", "k", 9).records) == 2


def allocate_with_size(check):
    def allocate(descriptor, size):
        check(descriptor, size)
        os.ftruncate(descriptor, max(size, os.fstat(descriptor).st_size))

    return allocate


class Odd(Exception):
    """An error that nobody foresaw."""


def failing_for(function, is_odd):
    def call(*arguments, **more):
        if is_odd(*arguments):
            raise Odd("odd")
        return function(*arguments, **more)

    return call


def test_an_odd_error_of_one_message_leaves_those_of_others_whole(opened, message):
    store = opened()
    told = []
    store.dispatch.watch(lambda place, problem: told.append((place, type(problem))))
    dispatch = store._inline
    dispatch._describe = failing_for(dispatch._describe, lambda placed: "odd" in placed.properties)
    put(
        store,
        message(body=b"0", TAGS="a", KEYS="k0"),
        message(body=b"1", TAGS="odd", KEYS="k1"),
        message(body=b"2", TAGS="a", KEYS="k2"),
        message("u", 1, b"3", TAGS="a", KEYS="k3"),
    )
    put(store, message(body=b"4", TAGS="a"))
    assert bodies(store.reads.get("t", 0, 0, 9)) == [b"0", b"1", b"2", b"4"]
    assert bodies(store.reads.get("u", 1, 0, 9)) == [b"3"]
    assert store.reads.get("t", 0, 0, 9, codes={java_hash("a")}).count == 3
    assert [len(store.search.query("t", f"k{number}", 9).records) for number in range(3)] == [1, 0, 1]
    ((place, problem),) = told
    assert (place[:3], problem) == (("t", 0, 1), Odd)
    assert place.log_offset > 0
    assert store.refusals.now() is None


def test_an_odd_error_of_the_index_is_one_messages(opened, message):
    store = opened()
    told = []
    store.dispatch.watch(lambda place, problem: told.append(place[:3]))
    index = store._inline._index
    index.add = failing_for(index.add, lambda _, indexed, __: any("odd" in keys for _, keys in indexed))
    batch = b"".join(encode_element(b"x", b"KEYS\x01%b\x02" % key) for key in (b"a", b"odd", b"b"))
    store.writes.put_batch(message(), batch)
    store.dispatch.now()
    assert told == [("t", 0, 1)]
    assert store.queues.max_offset("t", 0) == 3
    assert [len(store.search.query("t", key, 9).records) for key in ("a", "odd", "b")] == [1, 0, 1]


def test_an_odd_error_of_one_queue_stops_no_other_and_heals_at_the_next_start(opened, message):
    store = opened()
    told = []
    store.dispatch.watch(lambda place, problem: told.append(place[:3]))
    broken = store.files.queues.queue("t", 0)
    write = type(broken).write
    type(broken).write = failing_for(write, lambda queue, *_: queue is broken)
    try:
        put(store, message(body=b"0"), message("u", 1, b"1"))
    finally:
        type(broken).write = write
    put(store, message("u", 1, b"2"))
    assert bodies(store.reads.get("u", 1, 0, 9)) == [b"1", b"2"]
    assert told == [("t", 0, 0)]
    store.abandon()
    assert bodies(opened().reads.get("t", 0, 0, 9)) == [b"0"]


def test_who_is_told_of_arrivals_and_fails_stops_nobody(opened, message):
    told = []

    def tell(topic, *more):
        told.append(topic)
        if topic == "t":
            raise Odd("odd")

    store = opened(options={"on_arrival": tell})
    failed = []
    store.dispatch.watch(lambda place, problem: failed.append(place))
    put(store, message(), message("u"))
    assert told == ["t", "u"]
    assert failed == [("t", 0, 0, -1)]
    put(store, message())
    assert bodies(store.reads.get("t", 0, 0, 9)) == [b"hello", b"hello"]


def test_memory_that_is_short_leaves_nothing_out(opened, message):
    store = opened()
    index = store._inline._index
    real = index.write

    def no_memory():
        raise MemoryError

    index.write = no_memory
    put(store, message(KEYS="k"))
    assert "no memory" in str(store.refusals.now())
    index.write = real
    put(store, message(KEYS="k"))
    assert (store.refusals.now(), store.queues.max_offset("t", 0)) == (None, 2)
