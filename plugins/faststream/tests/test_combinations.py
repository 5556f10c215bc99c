"""Features that may meet in one handler: each pair works, or is refused when it is declared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import pytest
from faststream.message import StreamMessage
from mqframe_faststream import MqframeMessage, MqframeResponse
from mqframe_faststream.errors import OptionError
from mqframe_faststream.opentelemetry import MqframeTelemetryMiddleware
from mqframe_idempotence import MemoryStore, Once
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from mqframe import ConsumeHook

FEATURES = (
    "typed", "decoder", "once", "batch", "ordered", "hook", "request", "tracing", "transaction", "plain",
)  # fmt: skip
IMPOSSIBLE = {("transaction", "plain")}
"""A transaction is begun with `async with`, which a plain function cannot."""
NUMBERS = range(4)


class Order(BaseModel):
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


async def unwrapped(message: StreamMessage[Any], original: Any) -> Any:
    """A decoder of its own: what is meant lies one level below what the body says."""
    said = await original(message)
    return [each["wrapped"] for each in said] if isinstance(said, list) else said["wrapped"]


class Scene:
    """A handler that has some of the features, and what it did."""

    def __init__(self, make: Any, topic: str, features: tuple[str, ...]) -> None:
        self.topic = topic
        self.has = features.__contains__
        self.seen: list[int] = []
        self.published: list[int] = []
        self.hook, self.spans, provider = Around(), InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.once = Once(MemoryStore(), "billing", key="keys")
        self.broker = make(
            group=f"g-{topic}",
            consume_hooks=[self.hook] if self.has("hook") else [],
            middlewares=[MqframeTelemetryMiddleware(tracer_provider=provider)] if self.has("tracing") else [],
        )
        self.broker.subscriber(
            topic,
            consume_from="first",
            ordered=self.has("ordered"),
            batch=self.has("batch"),
            decoder=unwrapped if self.has("decoder") else None,
        )(self.handler())
        if self.has("transaction"):
            self.broker.subscriber(f"{topic}-out", group=f"out-{topic}", consume_from="first")(self.keep)

    async def keep(self, number: int) -> None:
        self.published.append(number)

    def work(self, orders: Any, message: MqframeMessage) -> Any:
        """Note what is new; the results, as many as messages where these are several."""
        values = orders if self.has("batch") else [orders]
        numbers = [each.number if self.has("typed") else each["number"] for each in values]
        for number, raw in zip(numbers, message.messages, strict=True):
            if not self.has("once"):
                self.seen.append(number)
                continue
            with self.once.processing(raw) as work:
                if work.fresh:
                    self.seen.append(number)
        results = [number + 1 for number in numbers]
        return results if self.has("batch") else results[0]

    def handler(self) -> Any:
        value: Any = Order if self.has("typed") else dict[str, Any]
        value = list[value] if self.has("batch") else value

        async def handle(orders: Any, message: MqframeMessage) -> Any:
            results = self.work(orders, message)
            if self.has("transaction"):
                for result in results if self.has("batch") else [results]:
                    async with self.broker.transaction(result, f"{self.topic}-out"):
                        pass
            return results

        def plain(orders: Any, message: MqframeMessage) -> Any:
            return self.work(orders, message)

        chosen: Any = plain if self.has("plain") else handle
        chosen.__annotations__ = {"orders": value, "message": MqframeMessage}
        return chosen

    def body(self, number: int) -> dict[str, Any]:
        order = {"number": number}
        return {"wrapped": order} if self.has("decoder") else order

    async def story(self, until: Any) -> None:
        doubles = NUMBERS[:1] if self.has("once") else ()
        for number in (*NUMBERS, *doubles):
            await self.broker.publish(
                self.body(number), self.topic, keys=[f"o-{number}"], sharding_key="one queue"
            )
        await until(lambda: len(self.seen) >= len(NUMBERS))
        if self.has("request"):
            reply = await self.broker.request(self.body(41), self.topic, keys=["o-41"], timeout=30)
            assert await reply.decode() == 42
        if self.has("transaction"):
            await until(lambda: len(self.published) >= len(NUMBERS))


@pytest.mark.parametrize(
    "features", [pair for pair in combinations(FEATURES, 2) if pair not in IMPOSSIBLE], ids="-".join
)
async def test_two_features_meet_in_one_handler(
    make: Any, running: Any, topic: str, until: Any, features: tuple[str, ...]
) -> None:
    scene = Scene(make, topic, features)
    async with running(scene.broker):
        await scene.story(until)
    asked = [41] if scene.has("request") else []
    assert scene.seen == [*NUMBERS, *asked]
    if scene.has("hook"):
        assert scene.hook.count >= len(scene.seen)
    if scene.has("tracing"):
        names = [span.name for span in scene.spans.get_finished_spans()]
        assert f"{topic} process" in names
    if scene.has("transaction"):
        assert {number + 1 for number in NUMBERS} <= set(scene.published)


async def test_all_that_go_together_meet_in_one_handler(
    make: Any, running: Any, topic: str, until: Any
) -> None:
    scene = Scene(make, topic, tuple(each for each in FEATURES if each != "plain"))
    async with running(scene.broker):
        await scene.story(until)
    assert scene.seen == [*NUMBERS, 41]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("kind", ["handler", "listener"])
def test_wrappers_of_other_consumers_are_refused_when_the_handler_is_declared(
    make: Any, topic: str, kind: str, later: bool
) -> None:
    once = Once(MemoryStore(), "billing")

    async def charge(order: Order, message: MqframeMessage) -> None: ...

    subscriber = make().subscriber(topic)
    with pytest.raises(OptionError, match=rf"{topic}.*charge.*once\.processing\(message\.raw_message\)"):
        (subscriber() if later else subscriber)(getattr(once, kind)(charge))


async def test_each_request_of_a_batch_gets_its_own_part_of_the_result(
    make: Any, running: Any, topic: str
) -> None:
    broker = make(group=f"g-{topic}")
    began = asyncio.Event()
    sizes: list[int] = []

    @broker.subscriber(topic, batch=True, consume_from="first")
    async def price(orders: list[Order]) -> list[Any]:
        sizes.append(len(orders))
        if len(sizes) == 1:
            began.set()
            await hold.wait()
        return [MqframeResponse(each.number + 1, keys=f"o-{each.number}") for each in orders]

    hold = asyncio.Event()

    async def ask(number: int) -> Any:
        reply = await broker.request({"number": number}, topic, sharding_key="one queue", timeout=30)
        return await reply.decode(), reply.keys

    async with running(broker):
        asked = [asyncio.ensure_future(ask(0))]
        await began.wait()
        asked += [asyncio.ensure_future(ask(number)) for number in range(1, 4)]
        await broker.publish({"number": 9}, topic, sharding_key="one queue")
        hold.set()
        assert (await asyncio.gather(*asked)) == [(number + 1, [f"o-{number}"]) for number in range(4)]
    assert sum(sizes) == 5
