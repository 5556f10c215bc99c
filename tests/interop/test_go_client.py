"""Apache's Go client on our broker; on theirs it must see the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from real_time import until

from interop.commits import remember, until_committed
from interop.foreign import ForeignClient
from interop.servers import Servers
from interop.sharing import check_sharing
from mqframe import Admin, Message, MessageQueue, Producer, Puller

StartGo = Callable[..., ForeignClient]
TEXT = "größer € 订单"
BIG = "-" + "0123456789" * 2000


@pytest.mark.proves("sending")
def test_every_way_of_sending(go: StartGo, servers: Servers, topic: str) -> None:
    sent: dict[str, list[str]] = {}
    for mode, count in (("sync", 15), ("async", 15), ("keyed", 15), ("big", 2)):
        for line in go("send", servers.nameserver, topic, mode, str(count)).finish():
            assert line[:2] == ["sent", "0"], line
            sent[line[6] + (BIG if mode == "big" else "")] = line
    [batch] = go("send", servers.nameserver, topic, "batch", "8").finish()
    assert batch[:2] == ["sent", "0"]

    with Puller(nameserver=servers.nameserver) as puller:
        queues = puller.queues(topic)
        assert [queue.queue_id for queue in queues] == [0, 1, 2, 3]
        messages = [m for queue in queues for m in puller.pull(queue, 0).messages]
        ends = [puller.max_offset(queue) for queue in queues]
    assert len(messages) == sum(ends) == 55
    stored = {message.body.decode(): message for message in messages}
    expected = [f"{mode}-{n}" for mode in ("sync", "async", "keyed") for n in range(15)]
    expected += [f"big-{n}{BIG}" for n in range(2)] + [f"batch-{n}" for n in range(8)]
    assert sorted(stored) == sorted(expected)
    for body, line in sent.items():
        message = stored[body]
        assert [message.message_id, message.offset_message_id] == line[2:4]
        assert [str(message.queue_id), str(message.queue_offset)] == line[4:6]
    for body, message in stored.items():
        number = int(body.split("-")[1])
        assert (message.tag, message.keys) == (f"tag{number % 3}", [f"key{number}", "all"])
        assert (message.properties["number"], message.properties["text"]) == (str(number), TEXT)
    assert stored[f"big-0{BIG}"].store_size < len(BIG)
    keyed = [{stored[f"keyed-{n}"].queue_id for n in range(customer, 15, 5)} for customer in range(5)]
    assert [len(queues_of_one) for queues_of_one in keyed] == [1] * 5
    in_batch = [stored[f"batch-{n}"] for n in range(8)]
    first = int(batch[5])
    assert [(m.queue_id, m.queue_offset) for m in in_batch] == [(int(batch[4]), first + n) for n in range(8)]
    assert [m.offset_message_id for m in in_batch] == batch[3].split(",")
    # This client gives the messages of a batch no unique keys.
    assert batch[2] == ""
    assert [m.message_id for m in in_batch] == [m.offset_message_id for m in in_batch]


@pytest.mark.proves("sending")
def test_topics_are_made_on_first_use(go: StartGo, servers: Servers) -> None:
    lines = go("send", servers.nameserver, "made_by_go", "sync", "8").finish()
    assert [line[1] for line in lines] == ["0"] * 8
    assert {line[4] for line in lines} == {"0", "1", "2", "3"}


@pytest.mark.proves("consuming")
def test_go_push_consumer_gets_what_python_sends(go: StartGo, servers: Servers, topic: str) -> None:
    remember(servers, "go_group", topic)
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        results = {}

        def send(begin: int, end: int, padding: str = "") -> None:
            for n in range(begin, end):
                body = f"body-{n}{padding}".encode()
                properties = {"number": str(n), "text": TEXT}
                results[n] = producer.send(
                    Message(topic, body, tag=f"tag{n % 3}", keys=[f"key{n}"], properties=properties)
                )

        send(0, 20)
        member = go("consume", servers.nameserver, topic, "go_group", "tags=tag0 || tag2", "followed=yes")
        member.take("started", 1)
        send(20, 30)
        send(30, 31, BIG)
        wanted = [n for n in range(31) if n % 3 != 1]
        got = member.take("got", len(wanted))
        assert [line for line in member.finish() if line[0] == "got"] == []
        assert sorted(map(tuple, got)) == sorted(
            (
                "got",
                results[n].message_id,
                str(results[n].queue.queue_id),
                str(results[n].queue_offset),
                f"tag{n % 3}",
                f"key{n}",
                str(n),
                f"body-{n}" + (BIG if n == 30 else ""),
                TEXT,
                results[n].offset_message_id,
                "0",
                topic,
            )
            for n in wanted
        )
        # It left, and its offsets are with the broker: the next member goes on from there.
        ends: dict[MessageQueue, int] = {}
        for n in wanted:
            ends[results[n].queue] = results[n].queue_offset + 1
        with Admin(nameserver=servers.nameserver) as admin:
            until(lambda: admin.members.consumers("go_group").connection_set == [])
        # What no tag wanted at the end of a queue may be passed over already.
        until_committed(servers, "go_group", ends)
        send(31, 40)
        again = go("consume", servers.nameserver, topic, "go_group", "tags=tag0 || tag2")
        late = again.take("got", 6)
        assert [line for line in again.finish() if line[0] == "got"] == []
    assert sorted(int(line[6]) for line in late) == [n for n in range(31, 40) if n % 3 != 1]


@pytest.mark.proves("consuming")
def test_broadcasting(go: StartGo, servers: Servers, topic: str) -> None:
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        for n in range(10):
            producer.send(Message(topic, b"x", properties={"number": str(n)}))
        members = [go("consume", servers.nameserver, topic, "go_all", "model=broadcasting") for _ in range(2)]
        for member in members:
            assert sorted(int(line[6]) for line in member.take("got", 10)) == list(range(10))
            assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("consuming")
def test_go_and_python_members_share_a_group(go: StartGo, servers: Servers, topic: str) -> None:
    check_sharing(go, servers, topic, "go_mixed", tells=True)


@pytest.mark.proves("sending")
def test_one_way_sends_and_several_topics(go: StartGo, servers: Servers, topic: str) -> None:
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create(f"{topic}_2", queues=1)
        until(lambda: f"{topic}_2" in admin.topics.list())
    topics = [topic, f"{topic}_2"]
    assert go("send", servers.nameserver, ",".join(topics), "oneway", "10").finish() == []
    member = go("consume", servers.nameserver, ",".join(topics), "go_both")
    got = member.take("got", 10)
    assert [line for line in member.finish() if line[0] == "got"] == []
    expected = [(topics[n % 2], f"oneway-{n}", f"tag{n % 3}", f"key{n} all", TEXT) for n in range(10)]
    assert sorted((line[11], line[7], line[4], line[5], line[8]) for line in got) == sorted(expected)
    in_second = [int(line[3]) for line in sorted(got, key=lambda line: int(line[6])) if line[11] != topic]
    if servers.broker_name == "apache-a":
        in_second.sort()  # its threads store side by side what nobody waits for
    assert in_second == [0, 1, 2, 3, 4]


@pytest.mark.proves("filters")
def test_filters_by_sql(go: StartGo, servers: Servers, topic: str) -> None:
    sql = "number >= 3 AND number < 6 OR TAGS = 'tag2' OR number = 30"
    go("send", servers.nameserver, topic, "sync", "9").finish()
    member = go("consume", servers.nameserver, topic, "go_sql", f"sql={sql}")
    wanted = {"2", "3", "4", "5", "8"}
    got = member.take("got", len(wanted))
    assert {line[6] for line in got} == wanted
    with Producer("python_producer", nameserver=servers.nameserver) as producer:
        for n in (29, 30):
            producer.send(Message(topic, b"late", properties={"number": str(n)}))
    assert [line[6] for line in member.take("got", 1)] == ["30"]
    assert [line for line in member.finish() if line[0] == "got"] == []


@pytest.mark.proves("sending")
def test_bodies_up_to_the_limit(go: StartGo, servers: Servers, topic: str) -> None:
    """2 MB, which compresses well, and 5 MB, which this client sends as they are and the broker refuses."""
    [sent] = go("send", servers.nameserver, topic, "big", "1", "tens=200000").finish()
    with Puller(nameserver=servers.nameserver) as puller:
        [message] = puller.pull(MessageQueue(topic, servers.broker_name, int(sent[4])), 0).messages
    assert message.body == b"big-0-" + b"0123456789" * 200_000
    assert message.store_size < 50_000
    member = go("consume", servers.nameserver, topic, "go_big")
    [line] = member.take("got", 1)
    assert (line[1], line[7].encode()) == (message.message_id, message.body)
    member.finish()
