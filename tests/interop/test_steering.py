"""Consumers at Apache's broker and name server that follow topics by a pattern and tell of their queues."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from real_time import SECONDS_MAX

from interop.servers import Servers
from mqframe import AsyncAdmin, AsyncProducer, AsyncPushConsumer, ClientSettings, Message, MessageQueue


@pytest.mark.parametrize("ordered", [False, True], ids=["concurrent", "ordered"])
async def test_topics_that_come_are_followed_and_queues_are_told_of_before_they_go(
    apache: Servers, ordered: bool
) -> None:
    topic = f"steered-{uuid.uuid4().hex}"
    got: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
    gathered: dict[MessageQueue, int] = {}
    written: asyncio.Queue[dict[MessageQueue, int]] = asyncio.Queue()

    async def write_out(_topic: str, queues: list[MessageQueue]) -> None:
        if gone := {queue: gathered.pop(queue) for queue in queues if queue in gathered}:
            written.put_nowait(gone)

    def member(name: str) -> AsyncPushConsumer:
        client = ClientSettings(
            nameserver=apache.nameserver, instance_name=name, route_poll_seconds=0.2, heartbeat_seconds=1.0
        )
        made = AsyncPushConsumer(f"g-{topic}", client=client, ordered=ordered, on_revoked=write_out)

        async def handle(message) -> None:
            gathered[message.queue] = message.queue_offset + 1
            got.put_nowait((message.topic, message.body))

        made.subscribe(f"{topic}-*", "*", handle)
        return made

    async with (
        asyncio.timeout(SECONDS_MAX),
        AsyncAdmin(nameserver=apache.nameserver) as admin,
        AsyncProducer("shop", nameserver=apache.nameserver) as producer,
        member("m1"),
    ):
        await admin.topics.create(f"{topic}-eu", queues=2)
        queues = [MessageQueue(f"{topic}-eu", "apache-a", number) for number in range(2)]
        for n in range(4):
            await producer.send(Message(f"{topic}-eu", b"%d" % n), queue=queues[n % 2], timeout=SECONDS_MAX)
        assert sorted([await got.get() for _ in range(4)]) == [(f"{topic}-eu", b"%d" % n) for n in range(4)]
        assert written.empty()
        async with member("m2"):
            gone = await written.get()
            assert gone in [{queue: 2} for queue in queues]
    assert {**gone, **written.get_nowait()} == dict.fromkeys(queues, 2)
