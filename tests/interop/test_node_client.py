"""The Node client `ali-ons` on our broker; on Apache's it must see the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.commits import remember, until_committed
from interop.foreign import ForeignClient
from interop.servers import Servers
from interop.sharing import check_sharing
from interop.test_go_redelivery import dead
from mqframe import (
    Admin,
    Message,
    MessageQueue,
    Producer,
    Puller,
    ReceivedMessage,
)

StartNode = Callable[..., ForeignClient]
TEXT = "größer € 订单"
BIG = "-" + "0123456789" * 2000


def stored(servers: Servers, topic: str) -> list[ReceivedMessage]:
    """All messages of `topic`, queue after queue."""
    with Puller(nameserver=servers.nameserver) as puller:
        return [m for queue in puller.queues(topic) for m in puller.pull(queue, 0).messages]


def send(
    servers: Servers, topic: str, begin: int, end: int, *, queue_id: int | None = None
) -> dict[str, str]:
    """Send numbered messages; their offset ids by number."""
    queue = None if queue_id is None else MessageQueue(topic, servers.broker_name, queue_id)
    ids = {}
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        for n in range(begin, end):
            properties = {"number": str(n), "text": TEXT}
            message = Message(
                topic, f"body-{n}".encode(), tag=f"tag{n % 3}", keys=[f"key{n}"], properties=properties
            )
            ids[str(n)] = producer.send(message, queue=queue).offset_message_id or ""
    return ids


@pytest.mark.proves("sending")
def test_every_way_of_sending(node: StartNode, servers: Servers, topic: str) -> None:
    sent: dict[str, list[str]] = {}
    for mode, count in (("sync", 10), ("async", 10), ("keyed", 10), ("big", 2)):
        for line in node("send", servers.nameserver, topic, mode, str(count)).finish():
            assert line[:2] == ["sent", "SEND_OK"], line
            sent[line[5] + (BIG if mode == "big" else "")] = line
    messages = {message.body.decode(): message for message in stored(servers, topic)}
    expected = [f"{mode}-{n}" for mode in ("sync", "async", "keyed") for n in range(10)]
    assert sorted(messages) == sorted(sent) == sorted(expected + [f"big-{n}{BIG}" for n in range(2)])
    for body, message in messages.items():
        number = int(body.split("-")[1])
        # This client gives messages no unique keys, and names them by their place.
        assert sent[body][2:5] == [
            message.offset_message_id, str(message.queue_id), str(message.queue_offset)
        ]  # fmt: skip
        assert (message.tag, message.keys) == (f"tag{number % 3}", [f"key{number}", "all"])
        assert (message.properties["number"], message.properties["text"]) == (str(number), TEXT)
    assert messages[f"big-0{BIG}"].store_size < len(BIG)
    assert messages["keyed-3"].properties["__SHARDING_KEY"] == "customer-3"


def test_topics_are_not_made_on_first_use(node: StartNode, servers: Servers) -> None:
    """Other clients would ask for the route of the topic that new ones are made after; this one gives up."""
    [line] = node("send", servers.nameserver, "not_made_by_node", "sync", "1").finish()
    assert line[:2] == ["refused", "17"]


@pytest.mark.proves("consuming")
def test_node_consumer_gets_what_python_sends_and_goes_on(
    node: StartNode, servers: Servers, topic: str
) -> None:
    remember(servers, "node_group", topic)
    ids = send(servers, topic, 0, 20)
    member = node("consume", servers.nameserver, topic, "node_group", "tags=tag0 || tag2")
    wanted = [n for n in range(30) if n % 3 != 1]
    got = member.take("got", len([n for n in wanted if n < 20]))
    ids |= send(servers, topic, 20, 30)
    got += member.take("got", len([n for n in wanted if n >= 20]))
    assert [line for line in member.finish() if line[0] == "got"] == []
    assert sorted(
        (line[1], line[4], line[5], line[6], line[7], line[8], line[10], line[11]) for line in got
    ) == sorted(
        (ids[str(n)], f"tag{n % 3}", f"key{n}", str(n), f"body-{n}", TEXT, "0", topic) for n in wanted
    )
    ends: dict[MessageQueue, int] = {}
    for line in got:
        queue = MessageQueue(topic, servers.broker_name, int(line[2]))
        ends[queue] = max(ends.get(queue, 0), int(line[3]) + 1)
    with Admin(nameserver=servers.nameserver) as admin:
        until(lambda: admin.members.consumers("node_group").connection_set == [])
    until_committed(servers, "node_group", ends)
    send(servers, topic, 30, 36)
    again = node("consume", servers.nameserver, topic, "node_group", "tags=tag0 || tag2")
    late = again.take("got", 4)
    assert [line for line in again.finish() if line[0] == "got"] == []
    assert sorted(int(line[6]) for line in late) == [30, 32, 33, 35]


@pytest.mark.proves("consuming", "filters")
def test_several_topics_and_filters_by_sql(node: StartNode, servers: Servers, topic: str) -> None:
    topics = [topic, f"{topic}_2"]
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create(topics[1], queues=1)
        until(lambda: topics[1] in admin.topics.list())
    node("send", servers.nameserver, ",".join(topics), "sync", "12").finish()
    sql = "number >= 3 AND number < 6 OR TAGS = 'tag2'"
    member = node("consume", servers.nameserver, ",".join(topics), "node_sql", f"sql={sql}")
    wanted = {(topics[n % 2], str(n)) for n in (2, 3, 4, 5, 8, 11)}
    got = member.take("got", len(wanted))
    assert {(line[11], line[6]) for line in got} == wanted
    assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("consuming")
def test_broadcasting(node: StartNode, servers: Servers, topic: str) -> None:
    send(servers, topic, 0, 10)
    members = [node("consume", servers.nameserver, topic, "node_all", "model=broadcasting") for _ in range(2)]
    for member in members:
        assert sorted(int(line[6]) for line in member.take("got", 10)) == list(range(10))
        assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("retry")
def test_what_a_node_consumer_fails_comes_again(node: StartNode) -> None:
    with Cluster(store={"delay_levels": "1s 1s 1s"}) as cluster:
        cluster.create_topic("again", queues=4)
        servers = Servers(cluster.nameserver, cluster.broker.address, "broker-a", "DefaultCluster")
        ids = send(servers, "again", 0, 3)
        member = node("consume", servers.nameserver, "again", "node_fails", "fails=1")
        got = member.take("got", 6)
        assert [line for line in member.finish() if line[0] == "got"] == []
    assert Counter((line[6], line[10], line[11]) for line in got) == Counter(
        (str(n), times, "again") for n in range(3) for times in "01"
    )
    # The second time, it is a message of its own, which names the first one.
    assert {(line[6], line[9] or line[1]) for line in got} == set(ids.items())


@pytest.mark.proves("retry")
def test_what_a_node_consumer_gives_up_is_a_dead_letter(
    node: StartNode, servers: Servers, topic: str
) -> None:
    ids = send(servers, topic, 0, 2)
    member = node("consume", servers.nameserver, topic, "node_dies", "fails=99", "most=0")
    member.take("got", 2)
    with Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len(dead(admin, "node_dies")) == 2)
        letters = dead(admin, "node_dies")
    assert {(each.topic, each.message.body) for each in letters} == {(topic, b"body-0"), (topic, b"body-1")}
    origins = {each.message.properties["ORIGIN_MESSAGE_ID"] for each in letters}
    assert origins == set(ids.values())
    assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("delay")
def test_delayed_messages(node: StartNode, servers: Servers, topic: str) -> None:
    assert len(node("send", servers.nameserver, topic, "sync", "3", "level=1").finish()) == 3
    until(lambda: len(stored(servers, topic)) == 3)
    for message in stored(servers, topic):
        assert message.store_timestamp - message.born_timestamp >= 1000


@pytest.mark.proves("order")
def test_one_queue_is_consumed_in_order(node: StartNode, servers: Servers, topic: str) -> None:
    """This client locks no queue, but takes one message of it after the other."""
    lines = node("send", servers.nameserver, topic, "keyed", "20").finish()
    customers = [{line[3] for line in lines if int(line[5].split("-")[1]) % 5 == n} for n in range(5)]
    # Those whose key means the first queue go to any.
    assert sorted(len(queues) for queues in customers) == [1, 1, 1, 4, 4]
    got = node("consume", servers.nameserver, topic, "node_in_order").take("got", 20)
    for queue_id in "0123":
        wanted = [line[4:6] for line in lines if line[3] == queue_id]
        assert [[line[3], line[7]] for line in got if line[2] == queue_id] == wanted


@pytest.mark.proves("consuming")
def test_node_and_python_members_share_a_group(node: StartNode, servers: Servers, topic: str) -> None:
    check_sharing(node, servers, topic, "node_mixed", tells=False)
