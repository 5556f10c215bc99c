"""Plain pulls for asyncio programs, on a real broker in this process."""

from __future__ import annotations

import pytest
from mqframe_pull.puller.blocking_puller import Puller
from mqframe_pull.puller.puller import AsyncPuller
from mqframe_testing.cluster import Cluster

from mqframe.client.sending.blocking_producer import Producer
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import AnswerError, ClosedError, FixError
from mqframe.core.messages.message import Message
from mqframe.core.storage.record import decode_records


@pytest.fixture
def cluster():
    with Cluster() as running:
        running.create_topic("alone", 1)
        yield running


def send(cluster, topic: str, count: int) -> list[bytes]:
    bodies = [b"%d" % n for n in range(count)]
    with Producer("shop", nameserver=cluster.nameserver) as producer:
        for body in bodies:
            producer.send(Message(topic, body))
    return bodies


async def test_the_async_puller_stands_alone(cluster) -> None:
    bodies = send(cluster, "alone", 5)

    async with AsyncPuller("alone", nameserver=cluster.nameserver) as puller:
        [queue] = await puller.queues("alone")
        found = await puller.pull(queue, 1)
        assert (found.status, [m.body for m in found.messages]) == (PullStatus.FOUND, bodies[1:])
        assert (await puller.pull(queue, 5)).status is PullStatus.NO_NEW_MSG
        assert (await puller.pull(queue, 0, expression="x")).status is PullStatus.NO_MATCHED_MSG
        assert (await puller.pull(queue, 6)).status is PullStatus.OFFSET_ILLEGAL
        assert "alone" in await puller.topics()
        raw = await puller.pull_all_raw(queue, [(0, 2), (2, 9)])
        assert [[m.body for m in decode_records(bytes(each.records))] for each in raw] == [
            bodies[:2],
            bodies[2:],
        ]
        assert await puller.pull_raw(queue, 0, 2) == raw[0]
        await puller.commit(queue, 3)
        assert await puller.committed(queue) == 3
        with pytest.raises(FixError, match="offset -1 is negative"):
            await puller.pull(queue, -1)
        with pytest.raises(FixError, match="max_messages is 0"):
            await puller.pull(queue, 0, 0)
        with pytest.raises(FixError, match="offset -2"):
            await puller.commit(queue, -2)
    async with AsyncPuller("unheard_of", nameserver=cluster.nameserver) as puller:
        with pytest.raises(AnswerError) as caught:
            await puller.commit(queue, 1)
        assert caught.value.code == 26


async def test_what_was_stopped_is_not_started_again(cluster) -> None:
    puller = Puller(nameserver=cluster.nameserver)
    puller.start()
    puller.start()
    puller.stop()
    with pytest.raises(ClosedError):
        puller.start()

    puller = AsyncPuller(nameserver=cluster.nameserver)
    await puller.start()
    await puller.stop()
    with pytest.raises(ClosedError):
        await puller.start()
