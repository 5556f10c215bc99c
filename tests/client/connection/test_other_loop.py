"""Asyncio clients that are used on another loop than their own: an error at once, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import (
    Admin,
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    ConsumeResult,
    FixError,
    Message,
)

OTHER = "belongs to the event loop in which it was used first"


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def elsewhere(work: Callable[[], Awaitable[Any]]) -> None:
    async def there() -> None:
        with pytest.raises(FixError, match=OTHER):
            await work()

    asyncio.run(there())


def test_a_producer_sends_nothing_on_another_loop(mqframe_shared_cluster: Cluster, loop) -> None:
    mqframe_shared_cluster.create_topic("loops", 1)
    producer = AsyncProducer("loops", nameserver=mqframe_shared_cluster.nameserver)
    message = Message("loops", b"x")
    loop.run_until_complete(producer.start())
    loop.run_until_complete(producer.send(message))
    elsewhere(lambda: producer.send(message))
    elsewhere(lambda: producer.send_oneway(message))
    elsewhere(producer.stop)
    loop.run_until_complete(producer.send(message))
    loop.run_until_complete(producer.stop())
    with Admin(nameserver=mqframe_shared_cluster.nameserver) as admin:
        assert [each.max_offset for each in admin.topics.stats("loops").values()] == [2]


def test_consumers_and_admins_say_so_too(mqframe_shared_cluster: Cluster, loop) -> None:
    nameserver = mqframe_shared_cluster.nameserver
    mqframe_shared_cluster.create_topic("loops", 1)
    push = AsyncPushConsumer("loops-push", nameserver=nameserver)
    push.subscribe("loops", "*", lambda messages, context: ConsumeResult.SUCCESS)
    simple = AsyncSimpleConsumer("loops-simple", nameserver=nameserver)
    simple.subscribe("loops")
    admin = AsyncAdmin(nameserver=nameserver)
    for client in (push, simple, admin):
        loop.run_until_complete(client.start())
    elsewhere(push.stop)
    elsewhere(simple.stop)
    elsewhere(lambda: simple.receive(1, invisible_duration=10))
    elsewhere(admin.topics.list)
    for client in (push, simple, admin):
        loop.run_until_complete(client.stop())
        assert "stopped" in repr(client) or client is admin
