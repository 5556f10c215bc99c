"""Our push consumers that pop, at Apache's brokers and at ours."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from real_time import until

from interop.servers import Servers
from mqframe import Admin, ClientSettings, ListenerContext, Message, Producer, PushConsumer, ReceivedMessage
from mqframe.core.consuming.group_config import SubscriptionGroupConfig

pytestmark = pytest.mark.proves("pop")


def member(servers: Servers, group: str, name: str, **options: object) -> PushConsumer:
    """A consumer that pops; not started."""
    return PushConsumer(
        group,
        client=ClientSettings(nameserver=servers.nameserver, instance_name=name),
        consume_from="first",
        mode="pop",
        **options,  # type: ignore[arg-type]
    )


def dead(admin: Admin, group: str) -> list[bytes]:
    """The bodies of its dead letters."""
    admin.dead_letters.open(group)
    return [bytes(each.message.body) for each in admin.dead_letters.list(group)]


def test_members_share_single_messages_and_what_fails_is_counted(servers: Servers, topic: str) -> None:
    group = "pop_push_shared"
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create(SubscriptionGroupConfig(group, retry_max_times=2))
    with Producer("interop", nameserver=servers.nameserver) as producer:
        for number in range(60):
            producer.send(Message(topic, b"good-%d" % number))
        producer.send(Message(topic, b"bad"))
    seen: list[tuple[bytes, int]] = []
    lock = threading.Lock()

    def handle(message: ReceivedMessage, context: ListenerContext) -> None:
        with lock:
            seen.append((bytes(message.body), message.reconsume_times))
        if message.body == b"bad":
            context.delay_level_when_next_consume = 1
            raise RuntimeError("no")

    members = [member(servers, group, f"m{number}") for number in range(6)]
    for each in members:
        each.on(topic)(handle)
    for each in members:
        each.start()
    try:
        with Admin(nameserver=servers.nameserver) as admin:
            until(lambda: sum(body == b"bad" for body, _ in seen) == 3, 90)
            until(lambda: dead(admin, group) == [b"bad"], 60)
            until(lambda: admin.groups.lag(group) == 0, 60)
    finally:
        for each in members:
            each.stop()
    once = [(b"good-%d" % number, 0) for number in range(60)]
    tries = [(b"bad", times) for times in range(3)]
    assert Counter(seen) == Counter([*once, *tries])


def test_a_queue_is_handed_out_in_order(servers: Servers, topic: str) -> None:
    group = "pop_push_ordered"
    with Admin(nameserver=servers.nameserver) as admin:
        admin.groups.create(SubscriptionGroupConfig(group, consume_message_orderly=True))
    with Producer("interop", nameserver=servers.nameserver) as producer:
        queue = min(producer.queues(topic))
        for number in range(20):
            producer.send(Message(topic, b"%d" % number), queue=queue)
    seen: list[tuple[bytes, int]] = []
    consumer = member(servers, group, "one", ordered=True)

    @consumer.on(topic)
    def handle(message: ReceivedMessage, context: ListenerContext) -> None:
        seen.append((bytes(message.body), message.reconsume_times))
        if message.body == b"7" and not message.reconsume_times:
            raise RuntimeError("not yet")

    with consumer:
        until(lambda: (b"19", 0) in seen or any(body == b"19" for body, _ in seen), 120)
    firsts = list(dict.fromkeys(body for body, _ in seen))
    assert firsts == [b"%d" % number for number in range(20)]
    at = [body for body, _ in seen].index(b"7")
    assert [body for body, _ in seen][at + 1] == b"7"
