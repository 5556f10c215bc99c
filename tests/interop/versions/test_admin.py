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
    "topic_config": (
        lambda a, t, q, b: [(n, c.read_queue_nums, c.perm) for n, c in a.topic_config(t).items()],
        [("apache-a", 4, 6)],
    ),
    "topic_route": (lambda a, t, q, b: [x.broker_name for x in a.topic_route(t).queue_datas], ["apache-a"]),
    "topic_stats": (lambda a, t, q, b: [each.max_offset for each in a.topic_stats(t).values()], [2] * 4),
    "groups_of_topic": (lambda a, t, q, b: a.groups_of_topic(t), [GROUP]),
    "list_groups": (lambda a, t, q, b: GROUP in a.list_groups(), True),
    "consume_stats": (lambda a, t, q, b: sorted(a.consume_stats(GROUP, t)), None),
    "lag": (lambda a, t, q, b: a.lag(GROUP, t), 0),
    "min_offset": (lambda a, t, q, b: a.min_offset(q), 0),
    "max_offset": (lambda a, t, q, b: a.max_offset(q), 2),
    "search_offset": (lambda a, t, q, b: a.search_offset(q, 0), 0),
    "queue_entries": (lambda a, t, q, b: len(a.queue_entries(q, 0).queue_data), 2),
    "consume_time_spans": (lambda a, t, q, b: a.consume_time_spans(GROUP, t), None),
    "correction_offsets": (lambda a, t, q, b: len(a.correction_offsets(t, GROUP)), 4),
    "query_messages": (lambda a, t, q, b: len(a.query_messages(t, "every")), COUNT),
    "dead_letters": (lambda a, t, q, b: a.dead_letters(GROUP), []),
    "open_dead_letters": (lambda a, t, q, b: a.open_dead_letters(GROUP), []),
    "clone_offsets": (lambda a, t, q, b: a.clone_offsets(GROUP, "cloned", t), None),
    "cloned": (lambda a, t, q, b: a.lag("cloned", t), 0),
    "reset_queue_offset": (lambda a, t, q, b: a.reset_queue_offset(GROUP, q, 1), 1),
    "lag_after": (lambda a, t, q, b: a.lag(GROUP, t), 1),
    "skip_messages": (lambda a, t, q, b: sorted(a.skip_messages(GROUP, t).values()), [2] * 4),
    "reset_offsets": (lambda a, t, q, b: sorted(a.reset_offsets(GROUP, t, 0).values()), [0] * 4),
    "lag_at_the_beginning": (lambda a, t, q, b: a.lag(GROUP, t), COUNT),
    "broker_statistic": (lambda a, t, q, b: a.broker_statistic(b, "TOPIC_PUT_NUMS", t) is not None, True),
    "broker_progress": (lambda a, t, q, b: a.broker_progress(b), None),
    "broker_config_origins": (lambda a, t, q, b: a.broker_config_origins(b), None),
    "update_broker_config": (lambda a, t, q, b: a.update_broker_config(b, {"brokerPermission": "6"}), None),
    "put_kv": (lambda a, t, q, b: a.put_kv("space", "key", "größer"), None),
    "get_kv": (lambda a, t, q, b: a.get_kv("space", "key"), "größer"),
}

NEEDS_FIVE: dict[str, tuple[Callable[[Admin, str], Any], str]] = {
    "set_request_mode": (lambda a, t: a.set_request_mode(GROUP, t, "POP"), "SetMessageRequestMode"),
    "request_modes": (lambda a, t: a.request_modes(GROUP), "GetAllMessageRequestMode"),
    "group_readable": (lambda a, t: a.group_readable(GROUP, t), "UpdateAndGetGroupForbidden"),
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
        until(lambda: admin.lag(GROUP, topic) == 0)
        [member] = admin.consumer_connections(GROUP).connection_set
        assert (member.client_id, member.language) == (consumer.client_id, "PYTHON")
        held = admin.running_info(GROUP, consumer.client_id).queues
        assert sorted(queue.queue_id for queue in held if queue.topic == topic) == [0, 1, 2, 3]
        remembered = admin.remembered_offsets(GROUP, topic)[consumer.client_id]
        assert list(remembered.values()) == [2] * 4
        result = admin.consume_directly(GROUP, seen[0])
        assert result.consume_result is not None
        assert (result.consume_result.value, seen[COUNT:]) == ("CR_SUCCESS", seen[:1])


def described(admin: Admin, servers: Servers) -> str:
    """The version as the broker tells it; "" while it fails, as 4.9 does in its first second."""
    try:
        return admin.broker_runtime(servers.broker)["brokerVersionDesc"]
    except RetryError:
        return ""


@pytest.mark.proves("operation")
def test_administration(version: str, servers: Servers, topic: str, admin: Admin, producer: Producer) -> None:
    for n in range(COUNT):
        queue = MessageQueue(topic, servers.broker_name, n % 4)
        sent = producer.send(Message(topic, b"%d" % n, keys=["every"]), queue=queue)
        assert sent.queue_offset == n // 4
    consume_all(servers, topic)
    until(lambda: len(admin.query_messages(topic, "every")) == COUNT)
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
        assert [each.mode for each in admin.request_modes(GROUP)] == ["POP"]
    admin.delete_group(GROUP, clean_offsets=True)
    assert GROUP not in admin.list_groups()
    admin.delete_topic(topic)
    until(lambda: topic not in admin.list_topics())
    with pytest.raises((AnswerError, FixError)):
        admin.topic_route(topic)


@pytest.mark.proves("operation")
@pytest.mark.parametrize("kind", ["NORMAL", "FIFO", "DELAY", "TRANSACTION"])
def test_types_of_messages_are_noted_where_brokers_do(
    version: str, servers: Servers, admin: Admin, producer: Producer, kind: str
) -> None:
    topic = f"of_{kind.lower()}"
    admin.create_topic(topic, queues=1)
    until(lambda: topic in admin.list_topics())
    if version == OLDER:
        with pytest.raises(FixError, match=r"attributes=.* from Apache RocketMQ 5\.0\.0 on, .* is 4\.9\.7"):
            admin.create_topic(topic, queues=1, attributes={"+message.type": kind})
    else:
        admin.create_topic(topic, queues=1, attributes={"+message.type": kind})
        assert admin.topic_config(topic)[servers.broker_name].attributes == {"message.type": kind}
        admin.create_topic(topic, queues=1, attributes={"-message.type": ""})
    assert admin.topic_config(topic)[servers.broker_name].attributes == {}
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
    until(lambda: len(admin.message_trace(sent.message_id)) == 3)
    kinds = [each.kind.value for each in admin.message_trace(sent.message_id)]
    assert kinds == ["Pub", "SubBefore", "SubAfter"]
    with (
        TransactionProducer("ending", nameserver=servers.nameserver, send_hooks=["trace"]) as halves,
        halves.transaction(Message(topic, b"half")) as transaction,
    ):
        pass
    until(lambda: len(admin.message_trace(transaction.transaction_id)) == 2)
    half, end = admin.message_trace(transaction.transaction_id)
    assert (half.kind.value, end.kind.value) == ("Pub", "EndTransaction")
    assert (half.message_type, end.message_type) == (1, 2)
    assert (end.transaction_state, end.store_host, end.topic) == ("COMMIT_MESSAGE", servers.broker, topic)
