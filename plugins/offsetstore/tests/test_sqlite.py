import sqlite3
from contextlib import closing

import pytest
from mqframe_offsetstore import SqliteOffsetStore
from mqframe_testing.conformance import MemoryWire, OffsetStoreConformance

from mqframe.core.errors import ClosedError, RetryError, StoreError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom

QUEUE = MessageQueue("orders", "broker-a", 0)


class TestSqliteConformance(OffsetStoreConformance):
    def make(self, context: OffsetStoreContext) -> OffsetStore:
        return SqliteOffsetStore(context)


def make(tmp_path, group: str = "billing", **options) -> SqliteOffsetStore:
    context = OffsetStoreContext(group, "c", MemoryWire(), tmp_path)
    return SqliteOffsetStore(context, SqliteOffsetStore.Options(**options))


async def test_groups_share_a_file_but_no_offsets(tmp_path) -> None:
    one, other = make(tmp_path), make(tmp_path, "audit")
    await one.load()
    await other.load()
    one.update(QUEUE, 5, increase_only=True)
    await one.persist([QUEUE])
    assert await other.read(QUEUE, ReadFrom.STORE) is None
    other.update(QUEUE, 9, increase_only=True)
    await other.persist([QUEUE])
    assert await one.read(QUEUE, ReadFrom.STORE) == 5
    await one.close()
    await other.close()
    assert [path.name for path in tmp_path.iterdir()] == ["offsets.sqlite3"]


async def test_the_path_can_be_chosen(tmp_path) -> None:
    store = make(tmp_path, path=tmp_path / "sub" / "mine.db")
    await store.load()
    await store.close()
    assert (tmp_path / "sub" / "mine.db").exists()


async def test_a_file_that_is_no_database_is_named(tmp_path) -> None:
    (tmp_path / "offsets.sqlite3").write_bytes(b"no database at all" * 100)
    store = make(tmp_path)
    with pytest.raises(StoreError, match=r"offsets\.sqlite3: file is not a database"):
        await store.load()
    await store.close()


async def test_a_locked_file_may_be_tried_again(tmp_path) -> None:
    store = make(tmp_path, busy_seconds=0.0)
    await store.load()
    store.update(QUEUE, 5, increase_only=True)
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RetryError, match="locked"):
            await store.persist([QUEUE])
        other.rollback()
    await store.persist([QUEUE])
    store.forget(QUEUE)
    assert await store.read(QUEUE, ReadFrom.STORE) == 5
    await store.close()


async def test_a_store_that_was_never_loaded_says_so(tmp_path) -> None:
    store = make(tmp_path)
    with pytest.raises(ClosedError, match="call load first"):
        await store.read(QUEUE, ReadFrom.STORE)
    await store.close()
