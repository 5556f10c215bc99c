"""Ordered consumption with unchanged Java clients and on Apache's broker, alone and mixed with ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.commits import remember, until_consumed
from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import Admin, ConsumeResult, ConsumerSettings, Message, MessageQueue, Producer, PushConsumer

pytestmark = pytest.mark.proves("order")

StartJava = Callable[..., ForeignClient]
LOCKED_SECONDS = 60.0
"""How long a broker keeps the locks of a member that does not release them."""
Delivery = tuple[int, int, int, str]
"""Time in ms, queue id, queue offset, body."""


class Listener:
    """Keeps what it is called with; "once…" fails the first time, "bad…" always."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._got: list[Delivery] = []

    def __call__(self, messages, context) -> ConsumeResult:
        now = time.time_ns() // 1_000_000
        with self._lock:
            self._got += [(now, m.queue_id, m.queue_offset, m.body.decode()) for m in messages]
        context.suspend_current_queue_time_millis = 100
        for m in messages:
            if m.body.startswith(b"bad") or (m.body.startswith(b"once") and not m.reconsume_times):
                return ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT
        return ConsumeResult.SUCCESS

    @property
    def got(self) -> list[Delivery]:
        with self._lock:
            return list(self._got)


def deliveries(lines: Iterable[list[str]]) -> list[Delivery]:
    """What a Java consumer told."""
    return [(int(x[5]), int(x[1]), int(x[2]), x[3]) for x in lines if x[0] == "got"]


def send_all(nameserver: str, broker: str, topic: str, queues: int, bodies: Iterable[str]) -> None:
    """Each of `bodies` to each queue, one after the other."""
    with Producer(group="ordered_producer", nameserver=nameserver) as producer:
        for body in bodies:
            for number in range(queues):
                producer.send(Message(topic, body.encode()), queue=MessageQueue(topic, broker, number))


def of_queue(got: Iterable[Delivery], number: int) -> list[str]:
    return [body for _, queue_id, _, body in got if queue_id == number]


BODIES = [f"m{n}" for n in range(10)] + ["once"] + [f"n{n}" for n in range(10)]
SEEN = [*BODIES[:11], "once", *BODIES[11:]]


def test_java_consumes_in_order_from_our_broker(java: StartJava, cluster: Cluster) -> None:
    cluster.create_topic("ordered", queues=3)
    consumer = java("Ordered", "consume", cluster.nameserver, "ordered", "java_ordered", "-1")
    consumer.take("started", 1)
    send_all(cluster.nameserver, "broker-a", "ordered", 3, BODIES)
    got = deliveries(consumer.take("got", 3 * len(SEEN)))
    for number in range(3):
        assert of_queue(got, number) == SEEN
    assert consumer.finish()[-1] == ["stopped"]
    with Admin(nameserver=cluster.nameserver) as admin:
        until(lambda: admin.groups.lag("java_ordered", "ordered") == 0)


def test_messages_that_java_gives_up_become_dead_letters(java: StartJava, cluster: Cluster) -> None:
    cluster.create_topic("limited", queues=1)
    consumer = java("Ordered", "consume", cluster.nameserver, "limited", "java_limited", "2")
    consumer.take("started", 1)
    send_all(cluster.nameserver, "broker-a", "limited", 1, ["a", "bad", "b"])
    got = deliveries(consumer.take("got", 5))
    assert of_queue(got, 0) == ["a", "bad", "bad", "bad", "b"]
    with Admin(nameserver=cluster.nameserver) as admin:
        letters = MessageQueue("%DLQ%java_limited", "broker-a", 0)
        until(lambda: "%DLQ%java_limited" in admin.topics.list())
        until(lambda: admin.offsets.max(letters) == 1)
    consumer.finish()


def test_java_and_python_keep_the_order_of_each_queue_together(java: StartJava, cluster: Cluster) -> None:
    """Java joins, then leaves, while messages flow; every queue changes hands."""
    cluster.create_topic("both", queues=4)
    listener = Listener()
    ours = PushConsumer(
        group="both_ordered", nameserver=cluster.nameserver, consume_from="first", ordered=True
    )
    ours.subscribe("both", "*", listener)
    stop = threading.Event()
    sent = [0]

    def flow() -> None:
        with Producer(group="flow", nameserver=cluster.nameserver) as producer:
            while not stop.is_set():
                for number in range(4):
                    producer.send(
                        Message("both", f"{sent[0]}".encode()), queue=MessageQueue("both", "broker-a", number)
                    )
                sent[0] += 1
                time.sleep(0.01)

    flowing = threading.Thread(target=flow)
    theirs: list[Delivery] = []
    with ours:
        until(lambda: len(mine(ours)) == 4)
        flowing.start()
        other = java("Ordered", "consume", cluster.nameserver, "both", "both_ordered", "-1")
        theirs += deliveries(other.take("got", 200))
        assert len(mine(ours)) == 2
        theirs += deliveries(other.finish())
        until(lambda: len(mine(ours)) == 4)
        before = len(listener.got)
        until(lambda: len(listener.got) > before + 100)
        stop.set()
        flowing.join()
        until(lambda: all(f"{sent[0] - 1}" in of_queue(listener.got, number) for number in range(4)))
    got = sorted(listener.got + theirs)
    for number in range(4):
        highest = -1
        for _, queue_id, offset, body in got:
            if queue_id == number:
                assert offset <= highest + 1
                assert body == str(offset)
                highest = max(highest, offset)
        assert highest == sent[0] - 1
    assert len({queue_id for _, queue_id, _, _ in theirs}) == 2


def mine(consumer: PushConsumer) -> list[int]:
    return [queue.queue_id for queue in consumer.queues if not queue.topic.startswith("%")]


def test_python_consumes_in_order_from_either_broker(servers: Servers, topic: str) -> None:
    listener = Listener()
    group = f"{topic}_group"
    remember(servers, group, topic)
    consumer = PushConsumer(
        group=group,
        nameserver=servers.nameserver,
        consume_from="first",
        ordered=True,
        settings=ConsumerSettings(max_reconsume_times=1),
    )
    consumer.subscribe(topic, "*", listener)
    with consumer:
        until(lambda: len(mine(consumer)) == 4)
        send_all(servers.nameserver, servers.broker_name, topic, 4, ["a", "b", "bad", "c", "d"])

        def complete() -> bool:
            return all(of_queue(listener.got, number)[-1:] == ["d"] for number in range(4))

        until(complete)
    for number in range(4):
        assert of_queue(listener.got, number) == ["a", "b", "bad", "bad", "c", "d"]
    with Admin(nameserver=servers.nameserver) as admin:
        letters = MessageQueue(f"%DLQ%{group}", servers.broker_name, 0)
        until(lambda: letters.topic in admin.topics.list())
        until(lambda: admin.offsets.max(letters) == 4)
    until_consumed(servers, group, topic)
    again = PushConsumer(group=group, nameserver=servers.nameserver, consume_from="first", ordered=True)
    later = Listener()
    again.subscribe(topic, "*", later)
    with again:
        # Nobody has to wait for the locks of a consumer that was stopped.
        until(lambda: len(mine(again)) == 4, LOCKED_SECONDS - 15)
        send_all(servers.nameserver, servers.broker_name, topic, 4, ["e"])
        until(lambda: len(later.got) == 4)
    assert {body for _, _, _, body in later.got} == {"e"}


def test_java_sends_stay_with_their_queue_while_a_broker_is_away(java: StartJava) -> None:
    with Cluster(2) as cluster:
        cluster.create_topic("fifo", queues=2, attributes="+message.type=FIFO")
        before = {x[1]: x[2:] for x in java("Ordered", "send", cluster.nameserver, "fifo", "20").finish()}
        assert {place[0] for place in before.values()} == {"broker-a", "broker-b"}
        cluster.stop_broker(1)
        after = {x[1]: x for x in java("Ordered", "send", cluster.nameserver, "fifo", "20").finish()}
        for key, place in before.items():
            if place[0] == "broker-a":
                assert after[key][:1] + after[key][2:] == ["sent", *place]
            else:
                assert after[key][0] == "failed"
