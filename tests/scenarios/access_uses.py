"""Every kind of client, used once: with a topic, in a group, with what it needs to reach servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from real_time import until

from mqframe import (
    Admin,
    AsyncProducer,
    AsyncPuller,
    ConsumeResult,
    LitePullConsumer,
    Message,
    Producer,
    Puller,
    PushConsumer,
    SimpleConsumer,
    TransactionProducer,
)

Use = Callable[[str, str, dict[str, Any]], object]


def send(topic: str, group: str, access: dict[str, Any]) -> object:
    with Producer(group, **access) as producer:
        return producer.send(Message(topic, b"x"))


def submit(topic: str, group: str, access: dict[str, Any]) -> object:
    with Producer(group, **access) as producer:
        return producer.submit(Message(topic, b"x")).result(60)


def send_on_a_loop(topic: str, group: str, access: dict[str, Any]) -> object:
    async def sent() -> object:
        async with AsyncProducer(group, **access) as producer:
            return await producer.send(Message(topic, b"x"))

    return asyncio.run(sent())


def send_in_a_transaction(topic: str, group: str, access: dict[str, Any]) -> None:
    with TransactionProducer(group, **access) as producer, producer.transaction(Message(topic, b"x")):
        pass


def pull(topic: str, group: str, access: dict[str, Any]) -> object:
    with Puller(group, **access) as puller:
        return puller.pull(puller.queues(topic)[0], 0)


def pull_on_a_loop(topic: str, group: str, access: dict[str, Any]) -> object:
    async def pulled() -> object:
        async with AsyncPuller(group, **access) as puller:
            return await puller.pull((await puller.queues(topic))[0], 0)

    return asyncio.run(pulled())


def push(topic: str, group: str, access: dict[str, Any]) -> None:
    consumer = PushConsumer(group, **access)
    consumer.subscribe(topic, "*", lambda messages, context: ConsumeResult.SUCCESS)
    with consumer:
        pass


def poll(topic: str, group: str, access: dict[str, Any]) -> None:
    with LitePullConsumer(group, consume_from="first", **access) as consumer:
        consumer.subscribe(topic)
        until(lambda: consumer.poll(0.2))


def pop(topic: str, group: str, access: dict[str, Any]) -> object:
    with SimpleConsumer(group, **access) as consumer:
        consumer.subscribe(topic)
        return consumer.receive(1, await_duration=0.2)


def look(topic: str, group: str, access: dict[str, Any]) -> object:
    with Admin(**access) as admin:
        return admin.topics.stats(topic)


READING = (pull, pull_on_a_loop, push, poll, pop)
ALL = (send, submit, send_on_a_loop, send_in_a_transaction, *READING, look)
