"""What Apache's Go client asks to get later, again, in order or not at all; on our broker and on theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.commits import remember, until_committed
from interop.foreign import ForeignClient
from interop.servers import Servers
from mqframe import Admin, ConsumeResult, DeadLetter, Message, MessageQueue, Producer, Puller, PushConsumer
from mqframe.core.messages.names import retry_topic

StartGo = Callable[..., ForeignClient]


def make_retry_topic(nameserver: str, group: str) -> None:
    """Have name servers know the retry topic of `group` before its first Go member starts.

    A broker makes it with the group's first heartbeat. Go members look for its route before theirs, and again
    after 30 s, and share queues out 10 s after that: what they fail until then waits for 40 s.
    """
    with Admin(nameserver=nameserver) as admin:
        admin.topics.create(retry_topic(group), queues=1)
        until(lambda: retry_topic(group) in admin.topics.list())


def send(servers: Servers, topic: str, count: int) -> dict[str, str]:
    """Send numbered messages to one queue; their ids by number."""
    queue = MessageQueue(topic, servers.broker_name, 0)
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        return {
            str(n): producer.send(
                Message(topic, b"%d" % n, tag="paid", keys=[f"key{n}"], properties={"number": str(n)}),
                queue=queue,
            ).message_id
            for n in range(count)
        }


@pytest.mark.proves("retry")
def test_what_a_go_consumer_fails_comes_again_and_dies(go: StartGo, servers: Servers, topic: str) -> None:
    make_retry_topic(servers.nameserver, "go_fails")
    ids = send(servers, topic, 4)
    member = go("consume", servers.nameserver, topic, "go_fails", "fails=99", "level=1", "most=2")
    got = member.take("got", 12)
    assert Counter((line[7], int(line[10])) for line in got) == Counter(
        (number, times) for number in ids for times in range(3)
    )
    for line in got:
        assert (line[1], line[4], line[5], line[6], line[11]) == (
            ids[line[7]], "paid", f"key{line[7]}", line[7], topic,
        )  # fmt: skip
    with Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len(dead(admin, "go_fails")) >= 4)
        letters = dead(admin, "go_fails")
    assert {(each.topic, each.message.reconsume_times) for each in letters} == {(topic, 3)}
    assert sorted(each.unique_key for each in letters) == sorted(ids.values())
    assert [line for line in member.finish() if line[0] == "got"] == []


def dead(admin: Admin, group: str) -> list[DeadLetter]:
    """The dead letters of `group` by now."""
    admin.dead_letters.open(group)
    return admin.dead_letters.list(group)


@pytest.mark.proves("retry")
def test_the_broker_chooses_when_a_message_comes_again(go: StartGo) -> None:
    """A consumer that says nothing of a level gets the group's: 3, then 4."""
    with Cluster(store={"delay_levels": "1s 1s 2s 3s"}) as cluster:
        cluster.create_topic("chosen", queues=1)
        servers = Servers(cluster.nameserver, cluster.broker.address, "broker-a", "DefaultCluster")
        make_retry_topic(servers.nameserver, "go_again")
        [(number, message_id)] = send(servers, "chosen", 1).items()
        member = go("consume", servers.nameserver, "chosen", "go_again", "fails=2")
        assert [(line[1], line[6], line[10], line[11]) for line in member.take("got", 3)] == [
            (message_id, number, times, "chosen") for times in "012"
        ]
        member.finish()
        with Puller(nameserver=servers.nameserver) as puller:
            [original] = puller.pull(MessageQueue("chosen", "broker-a", 0), 0).messages
            again = puller.pull(MessageQueue(retry_topic("go_again"), "broker-a", 0), 0).messages
    assert {each.properties["ORIGIN_MESSAGE_ID"] for each in again} == {original.offset_message_id}
    stored = [each.store_timestamp for each in (original, *again)]
    assert stored[1] - stored[0] >= 2000
    assert stored[2] - stored[1] >= 3000


@pytest.mark.proves("delay")
def test_delayed_messages(go: StartGo, servers: Servers, topic: str) -> None:
    sent = go("send", servers.nameserver, topic, "sync", "4", "level=1").finish()
    assert [line[1] for line in sent] == ["0"] * 4
    member = go("consume", servers.nameserver, topic, "go_delayed")
    got = member.take("got", 4)
    assert {(line[1], line[7]) for line in got} == {(line[2], line[6]) for line in sent}
    member.finish()
    with Puller(nameserver=servers.nameserver) as puller:
        messages = [m for queue in puller.queues(topic) for m in puller.pull(queue, 0).messages]
    assert sorted(message.body for message in messages) == [b"sync-%d" % n for n in range(4)]
    for message in messages:
        assert message.store_timestamp - message.born_timestamp >= 1000


@pytest.mark.proves("order")
def test_order_holds_over_failures(go: StartGo, servers: Servers, topic: str) -> None:
    """Each message fails once, and no later one of its queue comes in between."""
    sent = go("send", servers.nameserver, topic, "keyed", "10").finish()
    member = go("consume", servers.nameserver, topic, "go_ordered", "ordered=yes", "fails=1")
    got = member.take("got", 20)
    by_queue: dict[str, list[str]] = {}
    for line in got:
        by_queue.setdefault(line[2], []).append(line[7])
    expected: dict[str, list[str]] = {}
    for line in sent:
        expected.setdefault(line[4], []).extend([line[6]] * 2)
    assert by_queue == expected
    assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("order")
def test_a_python_member_takes_over_in_order(go: StartGo, servers: Servers, topic: str) -> None:
    """The locks of a Go member that leaves go with it, and its offsets stay."""
    remember(servers, "go_handover", topic)
    send(servers, topic, 6)
    member = go("consume", servers.nameserver, topic, "go_handover", "ordered=yes", "followed=yes")
    assert [line[7] for line in member.take("got", 6)] == [str(n) for n in range(6)]
    member.finish()
    until_committed(servers, "go_handover", {MessageQueue(topic, servers.broker_name, 0): 6})
    send(servers, topic, 4)
    by_python: list[bytes] = []
    consumer = PushConsumer("go_handover", nameserver=servers.nameserver, consume_from="first", ordered=True)

    @consumer.on(topic)
    def handle(messages, context):
        by_python.extend(message.body for message in messages)
        return ConsumeResult.SUCCESS

    with consumer:
        until(lambda: len(by_python) >= 4)
    assert by_python == [b"%d" % n for n in range(4)]
