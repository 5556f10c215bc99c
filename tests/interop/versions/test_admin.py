"""Administration of each version's broker: an operation works, or its error names the version that has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from real_time import until

from interop.foreign_programs import OLDER
from interop.servers import Servers
from mqframe import (
    Admin,
    AnswerError,
    ClientSettings,
    ConsumeResult,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    TransactionProducer,
)
from mqframe.core.errors import FixError, RetryError

GROUP = "administered"
COUNT = 8

# What is done (by an admin, on a topic, its queue 1, its broker), and what comes of it; `None`: anything but
# an error. In this order: some are about what those before left.
WORKS: dict[str, tuple[Callable[[Admin, str, MessageQueue, str], Any], Any]] = {
    "topics.config": (
        lambda a, t, q, b: [(n, c.read_queue_nums, c.perm) for n, c in a.topics.config(t).items()],
        [("apache-a", 4, 6)],
    ),
    "topics.route": (lambda a, t, q, b: [x.broker_name for x in a.topics.route(t).queue_datas], ["apache-a"]),
    "topics.stats": (lambda a, t, q, b: [each.max_offset for each in a.topics.stats(t).values()], [2] * 4),
    "topics.groups": (lambda a, t, q, b: a.topics.groups(t), [GROUP]),
    "groups.list": (lambda a, t, q, b: GROUP in a.groups.list(), True),
    "groups.stats": (lambda a, t, q, b: sorted(a.groups.stats(GROUP, t)), None),
    "groups.lag": (lambda a, t, q, b: a.groups.lag(GROUP, t), 0),
    "offsets.min": (lambda a, t, q, b: a.offsets.min(q), 0),
    "offsets.max": (lambda a, t, q, b: a.offsets.max(q), 2),
    "offsets.search": (lambda a, t, q, b: a.offsets.search(q, 0), 0),
    "messages.queue_entries": (lambda a, t, q, b: len(a.messages.queue_entries(q, 0).queue_data), 2),
    "offsets.time_spans": (lambda a, t, q, b: a.offsets.time_spans(GROUP, t), None),
    "offsets.correction": (lambda a, t, q, b: len(a.offsets.correction(t, GROUP)), 4),
    "messages.query": (lambda a, t, q, b: len(a.messages.query(t, "every")), COUNT),
    "dead_letters.list": (lambda a, t, q, b: a.dead_letters.list(GROUP), []),
    "dead_letters.open": (lambda a, t, q, b: a.dead_letters.open(GROUP), []),
    "offsets.clone": (lambda a, t, q, b: a.offsets.clone(GROUP, "cloned", t), None),
    "cloned": (lambda a, t, q, b: a.groups.lag("cloned", t), 0),
    "offsets.reset_queue": (lambda a, t, q, b: a.offsets.reset_queue(GROUP, q, 1), 1),
    "lag_after": (lambda a, t, q, b: a.groups.lag(GROUP, t), 1),
    "offsets.skip": (lambda a, t, q, b: sorted(a.offsets.skip(GROUP, t).values()), [2] * 4),
    "offsets.reset": (lambda a, t, q, b: sorted(a.offsets.reset(GROUP, t, 0).values()), [0] * 4),
    "lag_at_the_beginning": (lambda a, t, q, b: a.groups.lag(GROUP, t), COUNT),
    "brokers.statistic": (lambda a, t, q, b: a.brokers.statistic(b, "TOPIC_PUT_NUMS", t) is not None, True),
    "brokers.progress": (lambda a, t, q, b: a.brokers.progress(b), None),
    "brokers.config_origins": (lambda a, t, q, b: a.brokers.config_origins(b), None),
    "brokers.update_config": (lambda a, t, q, b: a.brokers.update_config(b, {"brokerPermission": "6"}), None),
    "kv.put": (lambda a, t, q, b: a.kv.put("space", "key", "größer"), None),
    "kv.get": (lambda a, t, q, b: a.kv.get("space", "key"), "größer"),
}

NEEDS_FIVE: dict[str, tuple[Callable[[Admin, str], Any], str]] = {
    "groups.set_request_mode": (
        lambda a, t: a.groups.set_request_mode(GROUP, t, "POP"),
        "SetMessageRequestMode",
    ),
    "groups.request_modes": (lambda a, t: a.groups.request_modes(GROUP), "GetAllMessageRequestMode"),
    "groups.readable": (lambda a, t: a.groups.readable(GROUP, t), "UpdateAndGetGroupForbidden"),
}


def consume_all(servers: Servers, topic: str) -> None:
    """Have a member of `GROUP` consume what there is, ask it things meanwhile, and leave."""
    client = ClientSettings(persist_offsets_seconds=0.1)
    consumer = PushConsumer(GROUP, nameserver=servers.nameserver, consume_from="first", client=client)
    seen: list[str] = []

    def listen(messages: list[Any], context: object) -> ConsumeResult:
        seen.extend(each.offset_message_id for each in messages)
        return ConsumeResult.SUCCESS

    consumer.subscribe(topic, "*", listen)
    with consumer, Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len(seen) == COUNT)
        until(lambda: admin.groups.lag(GROUP, topic) == 0)
        [member] = admin.members.consumers(GROUP).connection_set
        assert (member.client_id, member.language) == (consumer.client_id, "PYTHON")
        held = admin.members.running_info(GROUP, consumer.client_id).queues
        assert sorted(queue.queue_id for queue in held if queue.topic == topic) == [0, 1, 2, 3]
        remembered = admin.members.remembered_offsets(GROUP, topic)[consumer.client_id]
        assert list(remembered.values()) == [2] * 4
        result = admin.members.consume_directly(GROUP, seen[0])
        assert result.consume_result is not None
        assert (result.consume_result.value, seen[COUNT:]) == ("CR_SUCCESS", seen[:1])


def described(admin: Admin, servers: Servers) -> str:
    """The version as the broker tells it; "" while it fails, as 4.9 does in its first second."""
    try:
        return admin.brokers.runtime(servers.broker)["brokerVersionDesc"]
    except RetryError:
        return ""


@pytest.mark.proves("operation")
def test_administration(version: str, servers: Servers, topic: str, admin: Admin, producer: Producer) -> None:
    for n in range(COUNT):
        queue = MessageQueue(topic, servers.broker_name, n % 4)
        sent = producer.send(Message(topic, b"%d" % n, keys=["every"]), queue=queue)
        assert sent.queue_offset == n // 4
    consume_all(servers, topic)
    until(lambda: len(admin.messages.query(topic, "every")) == COUNT)
    for name, (act, wanted) in WORKS.items():
        found = act(admin, topic, MessageQueue(topic, servers.broker_name, 1), servers.broker)
        assert wanted is None or found == wanted, name
    until(lambda: described(admin, servers) == "V" + version.replace(".", "_"))
    for act_of_five, request in NEEDS_FIVE.values():
        if version == OLDER:
            with pytest.raises(
                AnswerError, match=rf"{request} .*from Apache RocketMQ 5\.0\.0 on, .*is 4\.9\.7"
            ):
                act_of_five(admin, topic)
        else:
            act_of_five(admin, topic)
    if version != OLDER:
        assert [each.mode for each in admin.groups.request_modes(GROUP)] == ["POP"]
    admin.groups.delete(GROUP, clean_offsets=True)
    assert GROUP not in admin.groups.list()
    admin.topics.delete(topic)
    until(lambda: topic not in admin.topics.list())
    with pytest.raises((AnswerError, FixError)):
        admin.topics.route(topic)


@pytest.mark.proves("operation")
@pytest.mark.parametrize("kind", ["NORMAL", "FIFO", "DELAY", "TRANSACTION"])
def test_types_of_messages_are_noted_where_brokers_do(
    version: str, servers: Servers, admin: Admin, producer: Producer, kind: str
) -> None:
    topic = f"of_{kind.lower()}"
    admin.topics.create(topic, queues=1)
    until(lambda: topic in admin.topics.list())
    if version == OLDER:
        with pytest.raises(FixError, match=r"attributes=.* from Apache RocketMQ 5\.0\.0 on, .* is 4\.9\.7"):
            admin.topics.create(topic, queues=1, attributes={"+message.type": kind})
    else:
        admin.topics.create(topic, queues=1, attributes={"+message.type": kind})
        assert admin.topics.config(topic)[servers.broker_name].attributes == {"message.type": kind}
        admin.topics.create(topic, queues=1, attributes={"-message.type": ""})
    assert admin.topics.config(topic)[servers.broker_name].attributes == {}
    assert producer.send(Message(topic, b"x")).queue_offset == 0


@pytest.mark.proves("traces")
def test_traces_have_all_steps(servers: Servers, topic: str, admin: Admin) -> None:
    with Producer("traced", nameserver=servers.nameserver, send_hooks=["trace"]) as producer:
        sent = producer.send(Message(topic, b"traced"))
    consumer = PushConsumer(
        "traced", nameserver=servers.nameserver, consume_from="first", consume_hooks=["trace"]
    )
    seen: list[bytes] = []

    def listen(messages: list[Any], context: object) -> ConsumeResult:
        seen.extend(each.body for each in messages)
        return ConsumeResult.SUCCESS

    consumer.subscribe(topic, "*", listen)
    with consumer:
        until(lambda: seen == [b"traced"])
    until(lambda: len(admin.messages.trace(sent.message_id)) == 3)
    kinds = [each.kind.value for each in admin.messages.trace(sent.message_id)]
    assert kinds == ["Pub", "SubBefore", "SubAfter"]
    with (
        TransactionProducer("ending", nameserver=servers.nameserver, send_hooks=["trace"]) as halves,
        halves.transaction(Message(topic, b"half")) as transaction,
    ):
        pass
    until(lambda: len(admin.messages.trace(transaction.transaction_id)) == 2)
    half, end = admin.messages.trace(transaction.transaction_id)
    assert (half.kind.value, end.kind.value) == ("Pub", "EndTransaction")
    assert (half.message_type, end.message_type) == (1, 2)
    assert (end.transaction_state, end.store_host, end.topic) == ("COMMIT_MESSAGE", servers.broker, topic)
