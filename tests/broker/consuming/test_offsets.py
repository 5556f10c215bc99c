import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)

KEY = "UNIQ_KEY\x01FD00AA\x02"


def query(topic="t", **fields):
    return QueryConsumerOffset(consumer_group="g", topic=topic, queue_id=0, **fields)


def update(offset, topic="t", group="g", queue_id=0):
    return UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset)


async def test_a_new_group_begins_at_zero_of_a_short_queue():
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await world.client.invoke(query())).code == 22  # nothing was ever stored there
        await world.client.ok_send("t", KEY)
        assert (await world.client.ok(query())).ext == {"offset": "0"}
        assert (await world.client.invoke(query(set_zero_if_not_found=False))).code == 22
        assert (await world.client.ok(query(set_zero_if_not_found=True))).ext == {"offset": "0"}


async def test_a_new_group_on_a_long_queue_has_no_offset():
    async with ClusterScene(topics={"t": 2}, store={"hot_bytes": 8000}) as world:
        for _ in range(20):
            await world.client.ok_send("t", KEY, body=bytes(1000))
        assert (await world.client.invoke(query())).code == 22


async def test_offsets_are_stored_also_backwards():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        for _ in range(5):
            await world.client.ok_send("t", KEY)
        await world.client.ok(update(5))
        assert (await world.client.ok(query())).ext == {"offset": "5"}
        await world.client.ok(update(2))
        assert (await world.client.ok(query())).ext == {"offset": "2"}


@pytest.mark.parametrize(("group", "topic", "code"), [("nobody", "t", 26), ("g", "absent", 17)])
async def test_offsets_of_nobody_are_refused(group, topic, code):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        assert (await world.client.invoke(update(1, topic, group))).code == code


async def test_that_nothing_was_consumed_yet_is_refused_without_a_warning(caplog):
    with caplog.at_level("INFO"):
        async with ClusterScene(topics={"t": 2}) as world:
            await world.client.heartbeat("g")
            await world.client.ok_send("t", KEY)
            await world.client.ok(update(1))
            assert (await world.client.invoke(update(-1))).code == 29
            assert "offset of a group refused" not in caplog.text
            assert (await world.client.ok(query())).ext == {"offset": "1"}


@pytest.mark.parametrize(
    ("offset", "queue_id", "reason"),
    [
        (-2, 0, "offset -2 is negative"),
        (3, 0, "offset 3 is behind the end of the queue, 2"),
        (1 << 62, 1, "is behind the end of the queue, 0"),
        (0, 2, "the topic has 2 read queues"),
        (0, -1, "the topic has 2 read queues"),
    ],
)
async def test_an_offset_that_nobody_can_have_reached_is_refused(offset, queue_id, reason, caplog):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        for _ in range(2):
            await world.client.ok_send("t", KEY)
        await world.client.ok(update(1))
        answer = await world.client.invoke(update(offset, queue_id=queue_id))
        assert answer.code == 29
        assert answer.remark.startswith(f"group g at t/{queue_id}: ")
        assert answer.remark.endswith(f"{reason}; not stored")
        assert "offset of a group refused" in caplog.text
        assert (await world.client.ok(query())).ext == {"offset": "1"}
        await world.client.ok(update(2))


async def test_queues_that_a_topic_had_once_are_still_committed():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        await world.client.ok_send("t", KEY, queue_id=1)
        await world.cluster.create_topic("t", 1)
        await world.client.ok(update(1, queue_id=1))
        assert (await world.client.invoke(update(2, queue_id=1))).code == 29


async def test_a_pull_brings_no_offset_behind_the_end(caplog):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g")
        await world.client.ok_send("t", KEY)
        answer = await world.client.pull("t", 0, sys_flag=5, commit_offset=1)
        assert answer.code == 0
        for wrong in (2, -1):
            assert (await world.client.pull("t", 0, sys_flag=5, commit_offset=wrong)).code == 0
        assert caplog.text.count("offset in a pull refused") == 2
        assert (await world.client.ok(query())).ext == {"offset": "1"}


async def test_queues_say_where_they_begin_and_end():
    async with ClusterScene(topics={"t": 2}) as world:
        start = world.clock.now_ms()
        for _ in range(3):
            await world.client.ok_send("t", KEY)
            await world.clock.aadvance(1)
        fields = {"topic": "t", "queue_id": 0}
        assert (await world.client.ok(GetMaxOffset(**fields))).ext == {"offset": "3"}
        assert (await world.client.ok(GetMinOffset(**fields))).ext == {"offset": "0"}

        async def search(timestamp, boundary=None):
            request = SearchOffsetByTimestamp(timestamp=timestamp, boundary_type=boundary, **fields)
            return (await world.client.ok(request)).ext["offset"]

        assert [await search(start - 1), await search(start + 1000), await search(start + 1500)] == [
            "0", "1", "2",
        ]  # fmt: skip
        assert await search(start + 99_000) == "3"
        assert await search(start + 1500, "upper") == "1"


async def test_unknown_queues_are_empty():
    async with ClusterScene(topics={"t": 2}) as world:
        fields = {"topic": "absent", "queue_id": 3}
        assert (await world.client.ok(GetMaxOffset(**fields))).ext == {"offset": "0"}
        assert (await world.client.ok(GetMinOffset(**fields))).ext == {"offset": "0"}
