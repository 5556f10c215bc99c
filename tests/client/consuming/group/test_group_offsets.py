"""Offsets of a group at a member: where they are kept, where queues begin, what is remembered and saved."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from mqframe_testing.consuming import ClientScene, MemoryOffsets

from mqframe.client.consuming.group.group_offsets import GroupOffsets, OffsetChoice, beginning
from mqframe.core.consuming.consume_rules import ConsumeFrom, MessageModel
from mqframe.core.errors import FixError, PluginError, RetryError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import ReadFrom
from mqframe.hooks.manager import PluginManager

A, B = (MessageQueue("orders", "broker-a", number) for number in (0, 1))


class SlowStore(MemoryOffsets):
    """Notes how many saves run at once; each takes a while, and those in `failures` fail."""

    def __init__(self, failures=()) -> None:
        super().__init__()
        self.running = self.most = self.saves = 0
        self.failures = set(failures)

    async def persist(self, queues) -> None:
        number, self.saves = self.saves, self.saves + 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if number in self.failures:
            raise RetryError("disk full")
        await super().persist(queues)


def offsets_of(scene, store):
    return GroupOffsets("g", store, scene.instance, (ConsumeFrom.FIRST, 0))


async def test_only_known_offsets_are_remembered_lower_ones_too() -> None:
    async with ClientScene() as scene:
        store = MemoryOffsets()
        offsets = offsets_of(scene, store)
        assert offsets.remember([(A, 7), (B, None)])
        assert offsets.remember([(A, 3)])
        assert store.remembered == {A: 3}
        assert not offsets.remember([(A, None)])


async def test_saves_follow_each_other() -> None:
    async with ClientScene() as scene:
        store = SlowStore()
        offsets = offsets_of(scene, store)
        offsets.remember([(A, 1), (B, 2)])
        await asyncio.gather(offsets.save([A]), offsets.save([A, B]), offsets.save([B]))
        assert (store.saves, store.most, store.stored) == (3, 1, {A: 1, B: 2})


async def test_a_save_goes_on_when_nobody_waits_for_it_any_more() -> None:
    async with ClientScene() as scene:
        store = SlowStore()
        offsets = offsets_of(scene, store)
        offsets.remember([(A, 1)])
        saving = asyncio.ensure_future(offsets.save([A]))
        await asyncio.sleep(0)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        await scene.pass_time()
        assert store.stored == {A: 1}


async def test_a_failed_save_is_raised_or_made_up_for_later() -> None:
    async with ClientScene() as scene:
        store = SlowStore(failures=[0, 1])
        offsets = offsets_of(scene, store)
        offsets.remember([(A, 1)])
        with pytest.raises(RetryError, match="disk full"):
            await offsets.save([A])
        await offsets.try_to_save([A])
        assert store.stored == {}
        await offsets.try_to_save([A])
        assert store.stored == {A: 1}
        await offsets.try_to_save([])
        assert store.saves == 3


async def test_the_first_offset_is_what_a_save_under_way_stores() -> None:
    async with ClientScene() as scene:
        store = SlowStore()
        offsets = offsets_of(scene, store)
        offsets.remember([(A, 8)])
        saving = asyncio.ensure_future(offsets.save([A]))
        await asyncio.sleep(0)
        assert await offsets.first(A) == 8
        await saving


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("last", (ConsumeFrom.LAST, 0)),
        ("first", (ConsumeFrom.FIRST, 0)),
        (1_700_000_000_000, (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
        (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
        ("2023-11-14T23:13:20+01:00", (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
        ("1700000000000", (ConsumeFrom.TIMESTAMP, 1_700_000_000_000)),
    ],
)
def test_words_and_moments(said, meant) -> None:
    assert beginning(said) == meant


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (datetime(2023, 11, 14), "2023-11-14T00:00:00 without a time zone"),
        ("2023-11-14T22:13", "without a time zone; add one, as 2023-11-14T22:13Z"),
        (1_700_000_000, "give ms since 1970-01-01 UTC, not seconds"),
        ("1700000000", "not seconds"),
    ],
)
def test_what_means_another_moment_elsewhere_is_refused(said, fault) -> None:
    with pytest.raises(FixError, match=f"consume_from is .*{fault}"):
        beginning(said)


@pytest.mark.parametrize("said", ["middle", True, 1.5, None, ["last"]])
def test_anything_else_is_named(said) -> None:
    with pytest.raises(FixError, match=r"consume_from .* is not"):
        beginning(said)


@pytest.mark.parametrize(
    ("stored", "where", "topic", "expected"),
    [
        (3, "last", "orders", 3),
        (None, "last", "orders", 5),
        (None, "first", "orders", 2),
        (None, 1_700_000_000_000, "orders", 2),
        (None, "last", "%RETRY%g", 0),
    ],
)
async def test_a_stored_offset_counts_before_the_rule(stored, where, topic, expected) -> None:
    async with ClientScene({topic: 1}) as scene:
        queue = scene.broker.queue(topic, 0)
        scene.broker.first[queue] = 2
        scene.broker.put(topic, 0, b"a", b"b", b"c")
        store = MemoryOffsets({} if stored is None else {queue: stored})
        store.update(queue, 99, increase_only=False)  # of an earlier time with the queue
        offsets = GroupOffsets("g", store, scene.instance, beginning(where))
        assert await offsets.first(queue) == expected
        # Where the first message is the beginning, it still is the next time.
        kept = stored is None and where != "first"
        assert store.remembered == ({queue: expected} if kept else {})


async def test_where_a_new_group_begins_is_kept_for_all_queues_and_moves_with_none() -> None:
    async with ClientScene({"orders": 2}) as scene:
        scene.broker.put("orders", 0, b"a", b"b", b"c")
        store = MemoryOffsets()
        store.update(B, 0, increase_only=False)
        offsets = GroupOffsets("g", store, scene.instance, beginning("last"))
        await offsets.begin(["orders"])
        assert store.stored == {}
        await offsets.keep_begun([])
        assert (store.stored, store.remembered) == ({A: 3, B: 0}, {})
        scene.broker.put("orders", 0, b"d")
        assert [await offsets.first(queue) for queue in (A, B)] == [3, 0]


async def test_where_only_the_application_commits_a_beginning_is_known_to_this_member_alone() -> None:
    async with ClientScene() as scene:
        scene.broker.put("orders", 0, b"a", b"b", b"c")
        store = MemoryOffsets()
        offsets = GroupOffsets("g", store, scene.instance, beginning("last"), commits=False)
        await offsets.begin(["orders"])
        await offsets.keep_begun([])
        scene.broker.put("orders", 0, b"d")
        assert await offsets.first(A) == 3
        assert (store.stored, store.remembered) == ({}, {})


async def test_of_a_queue_that_came_later_the_broker_may_presume_the_beginning() -> None:
    async with ClientScene({"orders": 2}) as scene:
        scene.broker.put("orders", 1, b"a", b"b", b"c")
        offsets = GroupOffsets("g", MemoryOffsets({A: 1}), scene.instance, beginning("last"))
        await offsets.begin(["orders"])
        scene.broker.offsets["g", B] = 0  # as a broker says of a queue that is short and whole
        assert await offsets.first(B) == 0
        assert await offsets.first_assigned(B) == 3  # the application chose it itself


def test_a_name_that_stands_for_none_is_refused_at_once(tmp_path):
    with pytest.raises(PluginError, match="no-such-store"):
        OffsetChoice(PluginManager(), "no-such-store", None, tmp_path, MessageModel.CLUSTERING)


async def test_an_object_is_used_as_it_is(tmp_path):
    async with ClientScene() as scene:
        store = MemoryOffsets()
        choice = OffsetChoice(PluginManager(), store, None, tmp_path, MessageModel.BROADCASTING)
        assert choice.make(scene.instance, "g") is store


@pytest.mark.parametrize("model", MessageModel)
async def test_offsets_are_at_the_broker_but_in_files_for_broadcasting(tmp_path, model):
    broadcasting = model is MessageModel.BROADCASTING

    async with ClientScene() as scene:
        queue = scene.broker.queue("orders", 0)
        choice = OffsetChoice(PluginManager(), None, None, tmp_path, model)
        store = choice.make(scene.instance, "g")
        store.update(queue, 5, increase_only=False)
        await store.persist([queue])
        await scene.pass_time()
        assert scene.stored("g") == (None if broadcasting else 5)
        assert any(path.is_file() for path in tmp_path.rglob("*")) is broadcasting
        assert await store.read(queue, ReadFrom.STORE) == 5
