"""A group in which a member of another client shares a topic of four queues with one of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from real_time import until

from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import (
    ConsumeResult,
    ListenerContext,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

COUNT = 100


def check_sharing(
    start: Callable[..., ForeignClient], servers: Servers, topic: str, group: str, *, tells: bool
) -> None:
    """Each member gets what is sent to its two queues, once.

    `start`: starts the foreign member; `tells`: whether it says that it has started.
    """
    consumer = PushConsumer(group, nameserver=servers.nameserver, consume_from="first")
    ours: list[tuple[int, str]] = []
    theirs: list[tuple[int, str]] = []

    @consumer.on(topic)
    def handle(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
        ours.extend((message.queue_id, message.properties["number"]) for message in messages)
        return ConsumeResult.SUCCESS

    def complete() -> bool:
        theirs.extend((int(line[2]), line[6]) for line in other.waiting("got"))
        return len(theirs) + len(ours) >= COUNT

    with consumer:
        other = start("consume", servers.nameserver, topic, group)
        if tells:
            other.take("started", 1)
        until(lambda: len([queue for queue in consumer.queues if queue.topic == topic]) == 2)
        mine = {queue.queue_id for queue in consumer.queues if queue.topic == topic}
        with Producer("python_producer", nameserver=servers.nameserver) as producer:
            for n in range(COUNT):
                queue = MessageQueue(topic, servers.broker_name, n % 4)
                message = Message(topic, b"x", properties={"number": str(n)})
                producer.send(message, queue=queue)
        until(complete)
        ours_until_then = list(ours)  # what the other one commits late, after its leave, comes to us again
        theirs += [(int(line[2]), line[6]) for line in other.finish() if line[0] == "got"]
    assert Counter(number for _, number in theirs + ours_until_then) == Counter(str(n) for n in range(COUNT))
    assert {queue_id for queue_id, _ in ours_until_then} == mine
    assert {queue_id for queue_id, _ in theirs} == {0, 1, 2, 3} - mine
