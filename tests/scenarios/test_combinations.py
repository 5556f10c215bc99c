"""Features that may meet in one handler: each pair works, or is refused when it is declared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import msgspec
import pytest
from mqframe_idempotence import MemoryStore, Once
from mqframe_testing import Stage

from mqframe import (
    ConsumeHook,
    ConsumeResult,
    ConsumerSettings,
    FixError,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    reply_to,
)

FEATURES = ("typed", "once", "batch", "ordered", "hook", "request", "async")
REFUSED = {("typed", "batch")}
NUMBERS = range(6)


class Order(msgspec.Struct):
    number: int


class Around(ConsumeHook):
    """Counts the messages whose listeners it was around."""

    name = "around"

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def around(self, context: Any) -> Iterator[None]:
        self.count += len(context.messages)
        yield


class Scene:
    """A handler that has some of the features, and what it did."""

    def __init__(self, stage: Stage, producer: Producer, features: tuple[str, ...]) -> None:
        self.stage = stage
        self.producer = producer
        self.has = features.__contains__
        self.seen: list[int] = []
        self.hook = Around()
        self.once = Once(MemoryStore(), "billing", key="keys")
        self.consumer = PushConsumer(
            "billing",
            nameserver=stage.nameserver,
            consume_from="first",
            ordered=self.has("ordered"),
            consume_hooks=[self.hook] if self.has("hook") else [],
            settings=ConsumerSettings(consume_threads=1, consume_tasks=1),
        )

    def work(self, message: ReceivedMessage, number: int) -> None:
        self.seen.append(number)
        if message.properties.get("REPLY_TO_CLIENT"):
            self.producer.send(reply_to(message, b"%d" % (number + 1)))

    def listener(self) -> Any:
        def listen(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
            for message in messages:
                self.work(message, message.decode(Order).number)
            return ConsumeResult.SUCCESS

        async def listen_async(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
            return listen(messages, context)

        chosen = listen_async if self.has("async") else listen
        return self.once.listener(chosen, ordered=self.has("ordered")) if self.has("once") else chosen

    def handler(self) -> Any:
        def typed(order: Order, message: ReceivedMessage) -> None:
            self.work(message, order.number)

        def plain(message: ReceivedMessage) -> None:
            self.work(message, message.decode(Order).number)

        async def typed_async(order: Order, message: ReceivedMessage) -> None:
            typed(order, message)

        async def plain_async(message: ReceivedMessage) -> None:
            plain(message)

        kinds = {(False, False): plain, (True, False): typed, (False, True): plain_async}
        chosen = kinds.get((self.has("typed"), self.has("async")), typed_async)
        return self.once.handler(chosen) if self.has("once") else chosen

    def play(self) -> None:
        function = self.listener() if self.has("batch") else self.handler()
        options: dict[str, Any] = {"type": Order} if self.has("typed") else {}
        options |= {"batch_max": 4} if self.has("batch") else {}
        self.consumer.subscribe("orders", "*", function, **options)
        doubles = NUMBERS[:1] if self.has("once") else ()
        for number in (*NUMBERS, *doubles):
            message = Message.of("orders", Order(number), keys=[f"o-{number}"])
            self.producer.send(message, sharding_key="one queue")
        with self.consumer:
            self.stage.settle()
            if self.has("request"):
                question = Message.of("orders", Order(41), keys=["o-41"])
                assert self.producer.request(question, timeout=60).body == b"42"


@pytest.mark.parametrize("features", list(combinations(FEATURES, 2)), ids="-".join)
def test_two_features_meet_in_one_handler(
    mqframe_stage: Stage, mqframe_producer: Producer, features: tuple[str, ...]
) -> None:
    mqframe_stage.create_topic("orders")
    scene = Scene(mqframe_stage, mqframe_producer, features)
    if features in REFUSED:
        with pytest.raises(FixError, match="orders"):
            scene.play()
        assert scene.seen == []
        return
    scene.play()
    assert scene.seen[: len(NUMBERS)] == list(NUMBERS)
    assert scene.seen[len(NUMBERS) :] == ([41] if scene.has("request") else [])
    if scene.has("hook"):
        # Of a duplicate the listener is called, too: it is the wrapper's to leave it out.
        assert scene.hook.count == len(scene.seen) + scene.has("once")


def test_all_that_go_together_meet_in_one_handler(mqframe_stage: Stage, mqframe_producer: Producer) -> None:
    mqframe_stage.create_topic("orders")
    together = ("typed", "once", "ordered", "hook", "request", "async")
    scene = Scene(mqframe_stage, mqframe_producer, together)
    scene.play()
    assert scene.seen == [*NUMBERS, 41]
