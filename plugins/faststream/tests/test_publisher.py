"""Publishers: what they add to messages, and whose handlers' results they publish."""

from __future__ import annotations

import pytest
from mqframe_faststream import MqframeBroker, MqframeMessage, MqframeResponse, OptionError, TestMqframeBroker


async def test_results_go_to_all_publishers_with_what_they_add(make, running, topic, seen) -> None:
    broker = make()

    @broker.subscriber(topic)
    @broker.publisher(f"{topic}-a", tag="always", headers={"who": "a", "h": "publisher"})
    @broker.publisher(f"{topic}-b")
    async def handle(value: int) -> MqframeResponse:
        return MqframeResponse(value + 1, keys=f"k-{value}", headers={"h": "own"})

    @broker.subscriber(f"{topic}-a")
    @broker.subscriber(f"{topic}-b")
    async def result(value: int, message: MqframeMessage) -> None:
        seen(
            (
                message.topic[-1],
                value,
                message.tag,
                message.keys,
                message.headers["h"],
                message.correlation_id,
            )
        )

    async with running(broker):
        await broker.publish(1, topic, correlation_id="c")
        got = await seen.take(2)
    assert sorted(got, key=str) == [
        ("a", 2, "always", ["k-1"], "own", "c"),
        ("b", 2, None, ["k-1"], "own", "c"),
    ]


async def test_a_batch_publisher_publishes_each_of_a_list(make, running, topic, seen) -> None:
    broker = make()

    @broker.subscriber(topic)
    @broker.publisher(f"{topic}-out", batch=True)
    async def split(text: str) -> list[str]:
        return text.split()

    @broker.subscriber(f"{topic}-out")
    async def word(value: str) -> None:
        seen(value)

    async with running(broker):
        await broker.publish("", topic)
        await broker.publish("a b c", topic)
        await seen.take(3)
    assert sorted(seen.all) == ["a", "b", "c"]


async def test_publishers_publish_and_ask_by_hand() -> None:
    broker = MqframeBroker()
    publisher = broker.publisher("orders", tag="t", headers={"h": "1"}, reply_to="answers")

    @broker.subscriber("orders")
    async def orders(value: int, message: MqframeMessage) -> int:
        return value * 10

    @broker.subscriber("answers")
    async def answers(value: int) -> None: ...

    async with TestMqframeBroker(broker):
        await publisher.publish(1)
        await publisher.publish_batch(2, 3)
        reply = await publisher.request(4)
        assert [call.args[0] for call in orders.mock.call_args_list] == [1, 2, 3, 4]
        assert [call.args[0] for call in answers.mock.call_args_list] == [10, 20, 30]
        assert (await reply.decode()) == 40


def test_wrong_publishers_are_an_error() -> None:
    broker = MqframeBroker()
    with pytest.raises(OptionError, match="may hold only"):
        broker.publisher("a/b")
    with pytest.raises(OptionError, match="broker's own"):
        broker.publisher("SCHEDULE_TOPIC_XXXX")
    with pytest.raises(OptionError, match="batch cannot be delayed"):
        broker.publisher("orders", batch=True, delay_level=1)
    with pytest.raises(TypeError, match="colour"):
        broker.publisher("orders", colour="red")
    assert broker.publishers == []
