"""Consumers of each kind on each version's broker: contents, order, resets, retries."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from threading import Event, Lock, Thread
from typing import Any

import pytest
from real_time import until

from interop.apache import Apache
from interop.foreign_programs import OLDER, java_flags
from interop.servers import Servers
from mqframe import (
    Admin,
    AnswerError,
    AsyncLitePullConsumer,
    ClientSettings,
    ConsumeContext,
    ConsumeResult,
    ConsumerSettings,
    LitePullConsumer,
    LitePullSettings,
    Message,
    MessageQueue,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
    SimpleConsumer,
    Sql,
)

COUNT = 12
OFTEN = ClientSettings(persist_offsets_seconds=0.1)
WAIT_SECONDS = 1.0
"""How long a pull waits: brokers of 5.x tell a member of a reset by the answer to its next pull."""


class Got:
    """Messages by queue, in the order in which they came. May be filled from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._messages: list[ReceivedMessage] = []

    def __call__(self, messages: list[ReceivedMessage], context: object) -> ConsumeResult:
        self.add(messages)
        return ConsumeResult.SUCCESS

    def add(self, messages: Sequence[ReceivedMessage]) -> None:
        with self._lock:
            self._messages.extend(messages)

    def __len__(self) -> int:
        return len(self._messages)

    def clear(self) -> None:
        with self._lock:
            self._messages.clear()

    def by_queue(self, *, in_order: bool = True) -> dict[int, list[tuple[int, bytes]]]:
        """Offsets and bodies; what came twice is told of once."""
        with self._lock:
            found: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
            for each in self._messages:
                found[each.queue_id].append((each.queue_offset, each.body))
        unique = {queue: list(dict.fromkeys(each)) for queue, each in found.items()}
        return unique if in_order else {queue: sorted(each) for queue, each in unique.items()}


def send(servers: Servers, producer: Producer, topic: str) -> dict[int, list[tuple[int, bytes]]]:
    """Send `COUNT` messages, in turn to each of the four queues; gives them by queue."""
    sent: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for n in range(COUNT):
        message = Message(topic, b"%d" % n, tag=f"tag{n % 3}", properties={"n": str(n)})
        result = producer.send(message, queue=MessageQueue(topic, servers.broker_name, n % 4))
        sent[n % 4].append((result.queue_offset, message.body))
    return dict(sent)


@contextlib.contextmanager
def consuming(kind: str, servers: Servers, topic: str) -> Iterator[Got]:
    """A member of the group `kind` + `topic`, and what it gets from the first message on."""
    got, group = Got(), f"{kind}_{topic}"
    if kind == "lite":
        lite = LitePullConsumer(
            group, nameserver=servers.nameserver, consume_from="first",
            settings=LitePullSettings(pull_wait_seconds=WAIT_SECONDS, auto_commit_seconds=0.1), client=OFTEN,
        )  # fmt: skip
        lite.subscribe(topic)
        with polled(lite, got):
            yield got
        return
    consumer = PushConsumer(
        group, nameserver=servers.nameserver, consume_from="first", ordered=kind == "ordered",
        settings=ConsumerSettings(pull_wait_seconds=WAIT_SECONDS, consume_threads=1), client=OFTEN,
    )  # fmt: skip
    consumer.subscribe(topic, "*", got)
    with consumer:
        yield got


@contextlib.contextmanager
def polled(consumer: LitePullConsumer, got: Got) -> Iterator[None]:
    """Two threads poll `consumer` meanwhile."""
    over = Event()

    def poll() -> None:
        while not over.is_set():
            got.add(consumer.poll(timeout=0.1))

    pollers = [Thread(target=poll), Thread(target=poll)]
    with consumer:
        for poller in pollers:
            poller.start()
        try:
            yield
        finally:
            over.set()
            for poller in pollers:
                poller.join()


def mqadmin(running: Apache, class_path: str, *words: str) -> str:
    """What Apache's own tool says."""
    command = ["java", *java_flags(class_path), f"-Duser.home={running.home}", "-cp", class_path]
    command += ["org.apache.rocketmq.tools.command.MQAdminStartup", *words, "-n", running.servers.nameserver]
    done = subprocess.run(
        command,
        env={**os.environ, "ROCKETMQ_HOME": str(running.home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout + done.stderr


KINDS = ("push", "ordered", "lite")


@pytest.mark.proves("consuming", "resets")
def test_resets_reach_every_kind_of_consumer(
    running: Apache,
    class_path: str,
    servers: Servers,
    topic: str,
    admin: Admin,
    producer: Producer,
) -> None:
    sent = send(servers, producer, topic)
    with contextlib.ExitStack() as members:
        got = {kind: members.enter_context(consuming(kind, servers, topic)) for kind in KINDS}

        def all_came() -> bool:
            return all(len(each) >= COUNT for each in got.values())

        def check(sent: dict[int, list[tuple[int, bytes]]]) -> None:
            for kind, each in got.items():
                assert each.by_queue(in_order=kind == "ordered") == sent

        until(all_came)
        check(sent)

        # By Apache's tool, and by ours.
        until(lambda: all(admin.groups.lag(f"{kind}_{topic}", topic) == 0 for kind in KINDS))
        for each in got.values():
            each.clear()
        for kind in KINDS:
            group = f"{kind}_{topic}"
            if kind == "push":
                said = mqadmin(running, class_path, "resetOffsetByTime", "-g", group, "-t", topic, "-s", "0")
                assert "apache-a" in said, said
            else:
                moved = admin.offsets.reset(group, topic, 0)
                assert moved == {MessageQueue(topic, servers.broker_name, n): 0 for n in range(4)}
        until(all_came)
        check(sent)


@pytest.mark.proves("pulling")
def test_lite_pulls_go_anywhere(servers: Servers, topic: str, producer: Producer) -> None:
    sent = send(servers, producer, topic)

    def place(group: str) -> LitePullConsumer:
        name = f"{group}_{topic}"
        return LitePullConsumer(name, nameserver=servers.nameserver, consume_from="first", client=OFTEN)

    def take(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
        found: list[ReceivedMessage] = []

        def enough() -> bool:
            found.extend(consumer.poll(timeout=0.5))
            return len(found) >= count

        until(enough)
        return found

    with place("assigned") as consumer:
        two = consumer.queues(topic)[1:3]
        consumer.assign(two, "tag0 || tag2")
        wanted = sorted(body for queue in (1, 2) for _, body in sent[queue] if int(body) % 3 != 1)
        assert sorted(each.body for each in take(consumer, len(wanted))) == wanted
        consumer.seek(two[0], 1)
        behind = [body for offset, body in sent[1] if offset >= 1 and int(body) % 3 != 1]
        assert [each.body for each in take(consumer, len(behind))] == behind
        consumer.commit()
        assert consumer.committed(two[0]) == len(sent[1])
    with place("sql") as consumer:
        consumer.subscribe(topic, Sql("n >= 8"))
        assert sorted(int(each.body) for each in take(consumer, 4)) == [8, 9, 10, 11]

    async def by_a_loop() -> list[bytes]:
        found: list[bytes] = []
        async with (
            asyncio.timeout(60),
            AsyncLitePullConsumer(
                f"loop_{topic}", nameserver=servers.nameserver, consume_from="first"
            ) as consumer,
        ):
            consumer.subscribe(topic)
            while len(found) < COUNT:
                found += [each.body for each in await consumer.poll()]
        return found

    assert sorted(map(int, asyncio.run(by_a_loop()))) == list(range(COUNT))


@pytest.mark.proves("retry")
def test_what_fails_for_good_is_read_as_a_dead_letter(
    servers: Servers, topic: str, admin: Admin, producer: Producer
) -> None:
    sent = producer.send(Message(topic, b"bad", keys=["k"]))
    group = f"failing_{topic}"

    def give_up(messages: list[ReceivedMessage], context: ConsumeContext) -> ConsumeResult:
        context.delay_level_when_next_consume = -1
        return ConsumeResult.RECONSUME_LATER

    consumer = PushConsumer(group, nameserver=servers.nameserver, consume_from="first")
    consumer.subscribe(topic, "*", give_up)
    with consumer:
        until(lambda: f"%DLQ%{group}" in admin.topics.list())
        admin.dead_letters.open(group)
        until(lambda: admin.dead_letters.list(group))
    [letter] = admin.dead_letters.list(group)
    assert (letter.message.body, letter.topic, letter.unique_key) == (b"bad", topic, sent.message_id)
    found = admin.dead_letters.get(group, sent.message_id)
    assert found is not None
    assert found.message.offset_message_id == letter.message.offset_message_id
    [resent] = admin.dead_letters.resend([letter], to="topic")
    assert resent.result is not None
    assert admin.messages.by_id(resent.result.offset_message_id).body == b"bad"


@pytest.mark.proves("consuming")
@pytest.mark.parametrize("begin", ["last", "moment", "stored"])
@pytest.mark.parametrize("kind", ["push", "ordered", "lite"])
def test_a_new_group_begins_where_it_says_from_5_on(
    version: str, servers: Servers, admin: Admin, producer: Producer, kind: str, begin: str
) -> None:
    topic, got = f"begins_{kind}_{begin}", Got()
    group = f"group_{topic}"
    admin.topics.create(topic, queues=4)
    until(lambda: topic in admin.topics.list())
    old = [body for each in send(servers, producer, topic).values() for _, body in each]
    options: dict[str, Any] = {"nameserver": servers.nameserver, "client": OFTEN}
    if begin == "moment":
        options["consume_from"] = int(time.time() * 1000) + 60_000
    if begin == "stored":  # what an operator does where brokers know no such wish
        admin.groups.create(group)
        with Puller(group, nameserver=servers.nameserver) as puller:
            queues = puller.queues(topic)
            # Apache's brokers enter into queues what they stored a moment later.
            until(lambda: sum(map(puller.max_offset, queues)) == len(old))
            for queue in queues:
                puller.commit(queue, puller.max_offset(queue))
    consumer: PushConsumer | LitePullConsumer
    if kind == "lite":
        consumer = LitePullConsumer(group, **options)
        consumer.subscribe(topic)
        running: Any = polled(consumer, got)
    else:
        running = consumer = PushConsumer(group, ordered=kind == "ordered", **options)
        consumer.subscribe(topic, "*", got)
    with running:
        for n in range(4):
            producer.send(Message(topic, b"new %d" % n), queue=MessageQueue(topic, servers.broker_name, n))
        new = [b"new %d" % n for n in range(4)]
        expected = [*old, *new] if version == OLDER and begin != "stored" else new
        until(lambda: len(got) >= len(expected))
    assert sorted(body for each in got.by_queue().values() for _, body in each) == sorted(expected)


@pytest.mark.proves("pop", since="5.0.0")
def test_pops_where_brokers_have_them(version: str, servers: Servers, topic: str, producer: Producer) -> None:
    sent = send(servers, producer, topic)
    with SimpleConsumer(f"simple_{topic}", nameserver=servers.nameserver, consume_from="first") as consumer:
        consumer.subscribe(topic)
        if version == OLDER:
            with pytest.raises(
                AnswerError, match=r"PopMessage .* from Apache RocketMQ 5\.0\.0 on, .* is 4\.9\.7"
            ):
                consumer.receive()
            return
        got = Got()

        def take(count: int) -> bool:
            messages = consumer.receive()
            consumer.ack_batch(messages)
            got.add(messages)
            return len(got) >= count

        until(lambda: take(COUNT))
    assert got.by_queue() == sent
    with SimpleConsumer(f"later_{topic}", nameserver=servers.nameserver, await_duration=2.0) as consumer:
        consumer.subscribe(topic)
        assert consumer.receive() == []
        got.clear()
        for n in range(4):
            producer.send(Message(topic, b"new %d" % n), queue=MessageQueue(topic, servers.broker_name, n))
        until(lambda: take(4))
    assert {queue: [body for _, body in each] for queue, each in got.by_queue().items()} == {
        n: [b"new %d" % n] for n in range(4)
    }
