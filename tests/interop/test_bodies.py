"""Bodies that are not what their handler expects, at our broker and at Apache's."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import Admin, ClientSettings, ConsumerSettings, Message, Producer, PushConsumer

pytestmark = pytest.mark.proves("retry")


@dataclass
class Order:
    id: int


@pytest.mark.parametrize("ordered", [False, True])
def test_dead_letters_say_why_and_are_the_message_that_was_sent(
    servers: Servers, topic: str, ordered: bool
) -> None:
    group = f"{topic}-{servers.broker_name}-{'ordered' if ordered else 'any'}"
    got: list[int] = []
    consumer = PushConsumer(
        group,
        nameserver=servers.nameserver,
        ordered=ordered,
        consume_from="first",
        settings=ConsumerSettings(rebalance_seconds=0.5),
        client=ClientSettings(persist_offsets_seconds=0.1),
    )

    @consumer.on(topic, type=Order)
    def handle(order: Order) -> None:
        got.append(order.id)

    with Producer("interop", nameserver=servers.nameserver) as producer:
        queue = producer.queues(topic)[0]
        bad = Message(topic, b'{"id":"x"}', tag="paid", keys=["k1"], properties={"mine": "7"}, flag=5)
        mine = {10, 20} if ordered else {1, 2}
        first, last = (producer.message(topic, Order(number)) for number in sorted(mine))
        for each in (first, bad, last):
            sent = producer.send(each, queue=queue)
            if each is bad:
                bad_id = sent.message_id
    with Admin(nameserver=servers.nameserver) as admin, consumer:
        until(lambda: mine <= set(got))
        until(
            lambda: admin.dead_letters.open(group) is not None and admin.dead_letters.list(group, key=bad_id)
        )
        until(lambda: admin.groups.lag(group, topic) == 0)
        (letter,) = admin.dead_letters.list(group, key=bad_id)
    message = letter.message
    assert letter.reason == "json: Expected `int`, got `str` at $.id"
    assert (letter.topic, letter.unique_key) == (topic, bad_id)
    assert (message.body, message.tag, message.keys, message.flag) == (bad.body, "paid", ["k1"], 5)
    assert message.properties["mine"] == "7"
