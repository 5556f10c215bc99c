"""Reading queues and the log as services do."""

from __future__ import annotations

from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.log_reader import LogReader


async def test_all_messages_of_the_log_are_read_in_order_over_the_ends_of_files() -> None:
    async with ClusterScene(topics={"t": 2}, store={"commit_log_file_bytes": 65536}) as world:
        bodies = [b"%03d" % number + b"x" * 3000 for number in range(100)]
        for number, body in enumerate(bodies):
            answer = await world.client.send("t", body, queue_id=number % 2)
            assert answer.code == 0
        reader = LogReader(world.store, "broker-a")
        assert reader.max_offset > 4 * 65536
        found = [message async for message in reader.records_from(0)]
        assert [message.body for message in found] == bodies
        assert {message.broker_name for message in found} == {"broker-a"}
        offsets = [message.commit_log_offset for message in found]
        assert offsets == sorted(offsets)
        rest = [message async for message in reader.records_from(offsets[60])]
        assert [message.body for message in rest] == bodies[60:]
        assert [message async for message in reader.records_from(reader.max_offset)] == []


async def test_a_queue_is_read_from_an_offset_on() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(5):
            await world.client.send("t", b"%d" % number)
        await world.settle()
        reader = LogReader(world.store, "broker-a")
        assert [m.body for m in await reader.read("t", 0, 1, 3)] == [b"1", b"2", b"3"]
        assert [m.queue_offset for m in await reader.read("t", 0, 3, 32)] == [3, 4]
        assert await reader.read("t", 0, 5, 1) == []
        assert await reader.read("unknown", 0, 0, 1) == []
        assert (reader.queue_min("t", 0), reader.queue_max("t", 0)) == (0, 5)
