import logging

import pytest
from mqframe_testing.conformance import MemoryWire, OffsetStoreConformance

from mqframe.core.errors import ConnectError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom
from mqframe.hooks.remote_offset_store import RemoteOffsetStore

Q0 = MessageQueue("orders", "broker-a", 0)
Q1 = MessageQueue("orders", "broker-b", 0)


class TestRemoteConformance(OffsetStoreConformance):
    def make(self, context: OffsetStoreContext) -> OffsetStore:
        return RemoteOffsetStore(context)


class Broken(MemoryWire):
    """The broker of `Q0` is away."""

    async def query(self, queue: MessageQueue) -> int | None:
        if queue == Q0:
            raise ConnectError("broker-a")
        return await super().query(queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        if queue == Q0:
            raise ConnectError("broker-a")
        await super().commit(queue, offset)


@pytest.fixture
def wire() -> MemoryWire:
    return MemoryWire()


def make(wire: MemoryWire, tmp_path) -> RemoteOffsetStore:
    return RemoteOffsetStore(OffsetStoreContext("billing", "c", wire, tmp_path))


async def test_a_queue_that_moved_away_is_dropped_on_persist(wire, tmp_path) -> None:
    store = make(wire, tmp_path)
    store.update(Q0, 1, increase_only=True)
    store.update(Q1, 2, increase_only=True)
    await store.persist([Q1])
    assert store.snapshot("orders") == {Q1: 2}
    assert wire.offsets == {Q1: 2}


async def test_memory_is_asked_first(wire, tmp_path) -> None:
    store = make(wire, tmp_path)
    wire.offsets[Q0] = 50
    store.update(Q0, 60, increase_only=True)
    assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 60
    assert await store.read(Q0, ReadFrom.STORE) == 50
    assert store.snapshot("orders") == {Q0: 50}


async def test_a_broker_that_is_away_does_not_keep_the_others_waiting(tmp_path, caplog) -> None:
    wire = Broken()
    store = make(wire, tmp_path)
    store.update(Q0, 1, increase_only=True)
    store.update(Q1, 2, increase_only=True)
    with caplog.at_level(logging.INFO, "mqframe"):  # who pulls from it warns
        await store.persist([Q0, Q1])
    assert wire.offsets == {Q1: 2}
    assert store.snapshot("orders") == {Q0: 1, Q1: 2}
    assert "offset not committed" in caplog.text


async def test_an_offset_that_cannot_be_read_is_an_error_not_none(tmp_path) -> None:
    with pytest.raises(ConnectError):
        await make(Broken(), tmp_path).read(Q0, ReadFrom.STORE)
