"""The blocking clients under brokers and name servers that lie, by seeds; then, when these are sound again.

Every call ends with a result or an error of ours, a send tells the truth about what is stored, and afterwards
everything works again, without a new client.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any

import pytest
from hostile import CHANGES, reread
from mqframe_testing.cluster import Cluster
from real_time import until

from mqframe import Admin, Message, MessageQueue, Producer, ProducerSettings, Puller, PushConsumer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import FrameError, MqframeError
from mqframe.core.requests.messages import SendBatchMessage, SendMessage, SendMessageV2
from mqframe.core.sending.retries import STORED_CODES
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook

SENDS = {kind.CODE for kind in (SendMessage, SendMessageV2, SendBatchMessage)}
SEEDS = pytest.mark.seeds(2, more=38)


class Liar(RpcHook):
    """Changes every `1/rate`th true answer before the client sees it, as `seed` has it."""

    name = "liar"

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rate = 0.0
        self.lies: list[str] = []
        self._lock = threading.Lock()

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        """Lie about `answer`, perhaps."""
        with self._lock:
            if answer is None or self.random.random() >= self.rate:
                return
            name, change = self.random.choice(CHANGES)
            true = Frame(answer.code, answer.opaque, answer.flag, answer.remark, answer.ext)
            true.body = bytes(answer.body)
            try:
                lie = reread(change(self.random, true))
            except FrameError:
                return  # such a connection is closed: tests/net/test_hostile_bytes.py
            if request.code in SENDS and lie.code not in STORED_CODES:
                return  # nobody can tell a refusal that is a lie
            self.lies.append(f"{name} {request.code}")
            answer.code, answer.remark, answer.ext, answer.body = lie.code, lie.remark, lie.ext, lie.body


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


def settings(cluster: Cluster) -> ClientSettings:
    return ClientSettings(nameserver=cluster.nameserver, route_poll_seconds=0.2, heartbeat_seconds=0.5)


def works(call: Callable[[], Any]) -> bool:
    """Whether `call` ended without an error of ours."""
    try:
        call()
    except MqframeError:
        return False
    return True


def stored(cluster: Cluster, topic: str) -> set[bytes]:
    found: set[bytes] = set()
    with Puller("reader", nameserver=cluster.nameserver) as puller:
        for queue in puller.queues(topic):
            at, end = 0, puller.max_offset(queue)
            while at < end:
                result = puller.pull(queue, at)
                found.update(message.body for message in result.messages)
                at = result.next_offset
    return found


@SEEDS
def test_a_blocking_producer_ends_its_calls_in_words_tells_the_truth_and_recovers(
    seed: int, cluster: Cluster
) -> None:
    cluster.create_topic("orders", 2)
    liar = Liar(seed)
    said: dict[str, set[bytes]] = {"stored": set(), "not": set()}
    few = ProducerSettings(send_timeout_seconds=1.0)
    with Producer("shop", rpc_hooks=[liar], client=settings(cluster), settings=few) as producer:

        def judge(problem: BaseException | None, *bodies: bytes) -> None:
            assert problem is None or isinstance(problem, MqframeError), repr(problem)
            if problem is None:
                said["stored"].update(bodies)
            elif not problem.maybe_stored:
                said["not"].update(bodies)

        def send(call: Callable[..., Any], messages: Any, *bodies: bytes) -> None:
            try:
                call(messages)
                judge(None, *bodies)
            except MqframeError as problem:
                judge(problem, *bodies)

        liar.rate = liar.random.choice((0.3, 0.6, 0.9))
        futures = []
        for number in range(12):
            one, two, three = (Message("orders", b"%d-%d" % (number, at)) for at in range(3))
            send(producer.send, one, one.body)
            send(producer.send_batch, [two], two.body)
            try:
                futures.append((three.body, producer.submit(three)))
            except MqframeError as problem:
                judge(problem, three.body)
        producer.flush()
        for body, future in futures:
            judge(future.exception(120), body)
        liar.rate = 0.0
        until(lambda: works(lambda: producer.send(Message("orders", b"late"))))
    there = stored(cluster, "orders")
    assert said["stored"] <= there, f"seed {seed}: {liar.lies}"
    assert not said["not"] & there, f"seed {seed}: {liar.lies}"
    assert b"late" in there


@pytest.mark.parametrize("ordered", [False, True])
@SEEDS
def test_a_blocking_consumer_goes_on_after_lies(seed: int, ordered: bool, cluster: Cluster) -> None:
    cluster.create_topic("orders", 2)
    liar = Liar(seed)
    got: SimpleQueue[tuple[int, bytes]] = SimpleQueue()

    def take(messages: Any, context: Any) -> ConsumeResult:
        for message in messages:
            got.put((message.queue_id, bytes(message.stored_body)))
        return ConsumeResult.SUCCESS

    consumer = PushConsumer(
        "g", rpc_hooks=[liar], client=settings(cluster), consume_from="first", ordered=ordered
    )
    consumer.subscribe("orders", "*", take)
    with Producer("shop", nameserver=cluster.nameserver) as producer, consumer:
        queues = [MessageQueue("orders", "broker-a", number) for number in range(2)]

        def arrives(body: bytes, queue_id: int) -> bool:
            # Sent anew each time: a lie may have moved the group to the end of the queue, or beyond.
            producer.send(Message("orders", body), queue=queues[queue_id])
            try:
                while got.get(timeout=1.0) != (queue_id, body):
                    continue
            except Empty:
                return False
            return True

        for queue in queues:
            until(lambda queue=queue: arrives(b"before", queue.queue_id))
        liar.rate = liar.random.choice((0.3, 0.6, 0.9))
        for number in range(20):
            producer.send(Message("orders", b"%d" % number), queue=queues[number % 2])
        until(lambda: len(liar.lies) > 10)
        liar.rate = 0.0
        for queue in queues:
            until(lambda queue=queue: arrives(b"late", queue.queue_id))


@SEEDS
def test_a_blocking_admin_ends_its_calls_in_words_and_recovers(seed: int, cluster: Cluster) -> None:
    cluster.create_topic("orders", 2)
    liar = Liar(seed)
    with Admin(client=settings(cluster), rpc_hooks=[liar]) as admin:
        calls: list[Callable[[], Any]] = [
            admin.cluster.info,
            lambda: admin.topics.stats("orders"),
            lambda: admin.topics.route("orders"),
            lambda: admin.topics.config("orders"),
            lambda: admin.topics.create("more", queues=1),
            admin.groups.list,
            admin.groups.configs,
            lambda: admin.messages.query("orders", "key"),
            lambda: admin.groups.stats("g"),
            lambda: admin.brokers.runtime("broker-a"),
            lambda: admin.members.consumers("g"),
        ]
        liar.rate = liar.random.choice((0.3, 0.6, 0.9))
        for _ in range(60):
            works(liar.random.choice(calls))
        assert liar.lies
        liar.rate = 0.0
        for call in calls[:7]:
            until(lambda call=call: works(call))
