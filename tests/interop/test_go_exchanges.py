"""Transactions, requests with replies, pulls and traces of Apache's Go client; on either broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from mqframe_testing import Cluster
from real_time import until

from interop.commits import remember, until_committed
from interop.foreign import ForeignClient
from interop.servers import Servers
from interop.test_request_reply import answering
from interop.test_transactions import QUICK
from mqframe import Admin, Message, MessageQueue, Producer, Puller

StartGo = Callable[..., ForeignClient]


@pytest.fixture(params=["apache", "ours"])
def asking(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Apache's servers and ours in turn, with brokers that soon ask for the end of a transaction."""
    if request.param == "apache":
        yield request.getfixturevalue("apache")
        return
    with Cluster(sections=[QUICK]) as running:
        yield Servers(running.nameserver, running.broker.address, "broker-a", "DefaultCluster")


@pytest.mark.proves("transactions")
def test_transactions_commit_roll_back_and_are_asked(go: StartGo, asking: Servers) -> None:
    with Admin(nameserver=asking.nameserver) as admin:
        admin.topics.create("go_ends", queues=1)
        until(lambda: "go_ends" in admin.topics.list())
    bodies = ["commit", "rollback", "unknown-commit", "unknown-rollback"]
    producer = go("transact", asking.nameserver, "go_ends", "go_tx", *bodies)
    sent = {line[5]: line for line in producer.take("sent", 4)}
    # This client's states: 1 committed, 2 rolled back, 3 unknown.
    assert [sent[body][1:3] for body in bodies] == [["0", "1"], ["0", "2"], ["0", "3"], ["0", "3"]]
    asked: dict[str, list[str]] = {}
    while len(asked) < 2:
        # On a slow machine, the broker asks for what its producer is about to end, too.
        [line] = producer.take("checked", 1)
        if line[1].startswith("unknown"):
            asked[line[1]] = line
    for body, line in asked.items():
        assert line[2:] == [sent[body][3], "go_tx", "go_ends"]
    with Puller(nameserver=asking.nameserver) as puller:
        queue = MessageQueue("go_ends", asking.broker_name, 0)
        until(lambda: puller.max_offset(queue) == 2)
        messages = puller.pull(queue, 0).messages
    assert [(m.body.decode(), m.message_id) for m in messages] == [
        (body, sent[body][3]) for body in ("commit", "unknown-commit")
    ]
    assert [line for line in producer.finish() if line[0] == "checked"] == []


@pytest.mark.proves("request-reply")
def test_go_asks_and_python_answers(go: StartGo, servers: Servers, topic: str) -> None:
    with answering(servers.nameserver, topic):
        lines = go("ask", servers.nameserver, topic, "5", "60").finish()
    assert lines == [["reply", f"question-{n}", f"python says question-{n}", "reply"] for n in range(5)]


@pytest.mark.proves("request-reply")
def test_go_hears_that_nobody_answers(go: StartGo, servers: Servers, topic: str) -> None:
    [line] = go("ask", servers.nameserver, topic, "1", "1").finish()
    assert line[0] == "failed"
    assert "timeout" in line[1]


@pytest.mark.proves("request-reply")
def test_python_asks_and_go_answers(go: StartGo, servers: Servers, topic: str) -> None:
    client = go("answer", servers.nameserver, topic, "go_answering")
    client.take("started", 1)
    with Producer("asks", nameserver=servers.nameserver) as producer, ThreadPoolExecutor(4) as threads:
        bodies = [b"q%d" % n for n in range(8)]
        replies = list(
            threads.map(lambda body: producer.request(Message(topic, body), timeout=60).body, bodies)
        )
    assert replies == [b"go says " + body for body in bodies]
    assert sorted(line[1:] for line in client.take("answered", 8)) == [["0", f"q{n}"] for n in range(8)]
    assert client.finish() == []


def held_queues(admin: Admin, group: str) -> set[MessageQueue]:
    """The queues that members of `group` say they have."""
    members = admin.members.consumers(group).connection_set
    return {queue for each in members for queue in admin.members.running_info(group, each.client_id).queues}


@pytest.mark.proves("pulling")
def test_pulls_by_offset(go: StartGo, servers: Servers, topic: str) -> None:
    remember(servers, "go_pulls", topic)
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        ids = [
            producer.send(Message(topic, b"%d" % n, tag=f"tag{n % 2}"), queue=queue).message_id
            for n in range(12)
            for queue in [MessageQueue(topic, servers.broker_name, n % 4 // 3)]
        ]
    client = go("pull", servers.nameserver, topic, "go_pulls", "2", f"broker={servers.broker_name}")
    lines = []
    while len([line for line in lines if line[0] == "pulled"]) < 2:
        line = client.next_line()
        assert line is not None
        lines.append(line)
    ends = {MessageQueue(topic, servers.broker_name, queue_id): end for queue_id, end in enumerate([9, 3])}
    with Admin(nameserver=servers.nameserver) as admin:
        # This client commits what its rebalance gave it, and forgets all else.
        until(lambda: ends.keys() <= held_queues(admin, "go_pulls"))
    assert client.finish() == []
    by_queue = [[n for n in range(12) if n % 4 // 3 == queue_id] for queue_id in range(2)]
    assert [[*line[1:4], line[7]] for line in lines if line[0] == "got"] == [
        [ids[n], str(queue_id), str(offset), str(n)]
        for queue_id in range(2)
        for offset, n in enumerate(by_queue[queue_id])
    ]
    pulled = [line[1:] for line in lines if line[0] == "pulled"]
    assert [(line[0], line[2:]) for line in pulled] == [
        (str(queue_id), [str(end), "0", str(end)]) for queue_id, end in enumerate([9, 3])
    ]
    until_committed(servers, "go_pulls", ends)


@pytest.mark.proves("traces")
def test_traces(go: StartGo, servers: Servers, topic: str) -> None:
    with Admin(nameserver=servers.nameserver) as admin:
        # This client drops its traces where their topic is not there yet.
        traces = f"{topic}_traces"
        admin.topics.create(traces, queues=1)
        until(lambda: traces in admin.topics.list())
    [sent] = go("send", servers.nameserver, topic, "sync", "1", f"trace={traces}").finish()
    member = go("consume", servers.nameserver, topic, "go_traced", f"trace={traces}")
    member.take("got", 1)
    with Admin(nameserver=servers.nameserver) as admin:
        until(lambda: len(admin.messages.trace(sent[2], trace_topic=traces)) == 3)
        by_producer, before, after = admin.messages.trace(sent[2], trace_topic=traces)
    member.finish()
    assert [(each.kind.value, each.group) for each in (by_producer, before, after)] == [
        ("Pub", "go_producer"), ("SubBefore", "go_traced"), ("SubAfter", "go_traced"),
    ]  # fmt: skip
    assert (by_producer.topic, by_producer.tags, by_producer.keys) == (topic, "tag0", "key0 all")
    assert by_producer.body_length == len("sync-0")
    assert by_producer.offset_message_id == sent[3]
    assert before.request_id == after.request_id
