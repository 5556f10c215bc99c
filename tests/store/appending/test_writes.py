"""Messages that are stored, and refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mqframe_testing.manual_clock import ManualClock
from stores import bodies

from mqframe.core.errors import StoreUnavailable
from mqframe.core.messages.batch import encode_element
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

Message = Callable[..., Incoming]


def writes_of(store: MessageStore, message: Message) -> list[Callable[[], object]]:
    return [
        lambda: store.writes.put(message()),
        lambda: store.writes.put_batch(message(), encode_element(b"x", b"")),
        lambda: store.writes.make_room(1),
    ]


def test_messages_and_batches_lie_one_behind_the_other(
    opened: Callable[..., MessageStore], message: Message
) -> None:
    store = opened()
    first = store.writes.put(message(body=b"1"))
    batch = store.writes.put_batch(message(), encode_element(b"2", b"") + encode_element(b"3", b""))
    assert batch.queue_offset == first.queue_offset + 1
    assert batch.offsets[0] == first.end_offset
    store.dispatch.now()
    assert bodies(store.reads.get("t", 0, 0, 9)) == [b"1", b"2", b"3"]


async def test_a_store_that_has_stopped_takes_none(
    opened: Callable[..., MessageStore], message: Message
) -> None:
    store = opened()
    await store.stop()
    for write in writes_of(store, message):
        with pytest.raises(StoreUnavailable, match="the store has stopped"):
            write()
    assert store.log.max_offset == 0


def test_a_refusal_that_a_dispatch_ends_refuses_nothing(
    opened: Callable[..., MessageStore], message: Message
) -> None:
    store = opened()
    for write in writes_of(store, message):
        store.writes.put(message())  # so that there is something to dispatch
        store.refusals.dispatch.failure = StoreUnavailable("queues could not be written")
        write()
        assert store.refusals.now() is None


def test_a_slave_takes_no_messages_of_its_own(
    small: Callable[..., StoreSettings], clock: ManualClock, message: Message, tmp_path: Path
) -> None:
    slave = MessageStore.open(small(tmp_path / "replica"), clock, is_copy=True)
    for write in writes_of(slave, message):
        with pytest.raises(StoreUnavailable, match="slave"):
            write()
    assert (slave.log.max_offset, slave.refusals.now()) == (0, None)
    slave.abandon()
