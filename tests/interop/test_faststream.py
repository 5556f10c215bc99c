"""FastStream applications at Apache's broker: topics by a pattern, queues by name, requests that fail."""

from __future__ import annotations

import asyncio
import json
import uuid

import pytest
from real_time import SECONDS_MAX

from interop.servers import Servers
from mqframe import AsyncAdmin, AsyncPuller, ConsumerSettings, MessageQueue, RequestFailed

pytest.importorskip("mqframe_faststream", reason="the FastStream plugin is not installed")
from faststream import Path
from faststream.exceptions import RejectMessage
from mqframe_faststream import MqframeBroker, MqframeMessage

QUICK = ConsumerSettings(suspend_current_queue_time_millis=10)


@pytest.fixture
def topic() -> str:
    return f"fs-{uuid.uuid4().hex}"


async def test_topics_that_come_are_followed_from_their_first_message(apache: Servers, topic: str) -> None:
    seen: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
    broker = MqframeBroker(apache.nameserver, group=f"g-{topic}", pattern_seconds=0.1)

    @broker.subscriber(pattern=f"{topic}-{{region}}")
    async def handle(value: int, region: str = Path()) -> None:
        seen.put_nowait((region, value))

    async with asyncio.timeout(SECONDS_MAX), broker, AsyncAdmin(nameserver=apache.nameserver) as admin:
        await broker.start()
        for region in ("eu", "us"):
            await admin.topics.create(f"{topic}-{region}", queues=1)
            await broker.publish(1, f"{topic}-{region}", timeout=SECONDS_MAX)
            assert await seen.get() == (region, 1)
            await broker.publish(2, f"{topic}-{region}")
            assert await seen.get() == (region, 2)


async def test_named_queues_are_read_and_kept_and_what_fails_is_a_dead_letter(
    apache: Servers, topic: str
) -> None:
    seen: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
    group, queue = f"g-{topic}", MessageQueue(topic, "apache-a", 1)
    broker = MqframeBroker(apache.nameserver, group=group, consumer=QUICK)

    @broker.subscriber(queues=[queue], max_reconsume_times=1)
    async def handle(value: int, message: MqframeMessage) -> None:
        seen.put_nowait((value, message.reconsume_times))
        if value == 1:
            raise RuntimeError("never")
        if value == 2:
            raise RejectMessage

    async with asyncio.timeout(SECONDS_MAX):
        async with broker:
            await broker.start()
            for value in range(4):
                await broker.publish(value, topic, queue=queue, timeout=SECONDS_MAX)
            got = [await seen.get() for _ in range(5)]
        assert got == [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0)]
        async with AsyncPuller(group, nameserver=apache.nameserver) as puller:
            assert await puller.committed(queue) == 4
        async with AsyncAdmin(nameserver=apache.nameserver) as admin:
            letters = await admin.dead_letters.list(group)
    assert sorted(json.loads(letter.message.body) for letter in letters) == [1, 2]


async def test_who_asks_hears_of_failures_and_rejections(apache: Servers, topic: str) -> None:
    broker = MqframeBroker(apache.nameserver, group=f"g-{topic}")

    @broker.subscriber(topic)
    async def handle(value: str) -> str:
        if value == "tea?":
            raise KeyError("tea")
        raise RejectMessage

    async with asyncio.timeout(SECONDS_MAX), broker:
        await broker.start()
        for value, why in {"tea?": "KeyError: 'tea'", "rejected": "RequestRejected"}.items():
            with pytest.raises(RequestFailed, match=why):
                await broker.request(value, topic, timeout=SECONDS_MAX)
