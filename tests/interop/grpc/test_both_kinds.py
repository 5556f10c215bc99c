"""Official clients of gRPC beside Java's of remoting: at one topic, in groups of their own or in one."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from real_time import until

from interop.conftest import StartJava
from interop.foreign import ForeignClient
from interop.grpc.clients import Clients, Got, GrpcProducer
from interop.grpc.doors import Door

NOTHING_SECONDS = 3.0
COUNT = 30
TEXT = "größer € 订单"


@pytest.fixture(
    params=["java", *(pytest.param(each, marks=pytest.mark.long) for each in ("python", "go", "node"))]
)
def language(request: pytest.FixtureRequest) -> str:
    """Whose client of gRPC it is."""
    found: str = request.param
    return found


class Seen(NamedTuple):
    """A message as both kinds of clients show it."""

    id: str
    tag: str | None
    key: str
    number: str | None
    body: str


def seen_by_grpc(got: Got) -> Seen:
    return Seen(got.id, got.tag, " ".join(got.keys), got.properties.get("number"), got.text)


def seen_by_remoting(line: list[str]) -> Seen:
    _, message_id, _, _, tag, key, number, body = line
    return Seen(message_id, tag, key, number, body)


def send_by_grpc(producer: GrpcProducer, topic: str, count: int = COUNT) -> set[Seen]:
    """Messages such as Java's producer of remoting sends: what was sent."""
    sent = set()
    for number in range(count):
        body, tag, key = f"grpc-{number}", f"tag{number % 3}", f"key{number}"
        properties = {"number": f"{number}", "text": TEXT}
        receipt = producer.send(topic, body, tag=tag, keys=[key], properties=properties)
        sent.add(Seen(receipt["id"], tag, key, f"{number}", body))
    return sent


def send_by_remoting(java: StartJava, door: Door, topic: str) -> set[Seen]:
    """Messages of Java's producer, some so large that it compresses them: what was sent."""
    lines = java("send", door.nameserver, topic, "sync", f"{COUNT}", "big", "3").finish()
    assert [line[1] for line in lines] == ["SEND_OK"] * (COUNT + 3)
    sent = set()
    for line in lines:
        number = int(line[6].split("-")[1])
        more = "-" + "0123456789" * 2_000 if line[6].startswith("big") else ""
        sent.add(Seen(line[2], f"tag{number % 3}", f"key{number}", f"{number}", line[6] + more))
    return sent


def consumer_of_remoting(java: StartJava, door: Door, topic: str, group: str) -> ForeignClient:
    consumer = java("consume", door.nameserver, topic, group, "*", "clustering")
    consumer.take("started", 1)
    return consumer


def test_groups_of_both_kinds_get_what_both_kinds_send(
    clients: Clients, java: StartJava, door: Door, name: str
) -> None:
    if door.apache and clients.language == "node":
        pytest.skip("it is given what remoting clients compress as it is, and cannot unpack it")
    door.create_topic(name)
    ours = clients.push(f"{name}_grpc", {name: "*"})
    theirs = consumer_of_remoting(java, door, name, f"{name}_remoting")
    sent = send_by_grpc(clients.producer(name), name) | send_by_remoting(java, door, name)
    assert len(sent) == 2 * COUNT + 3
    by_grpc = ours.take(len(sent))
    by_remoting = theirs.take("got", len(sent))
    assert {seen_by_grpc(got) for got in by_grpc} == sent
    assert {got.properties["text"] for got in by_grpc} == {TEXT}
    assert {got.attempt for got in by_grpc} == {1}
    assert {seen_by_remoting(line) for line in by_remoting} == sent
    assert ours.within(NOTHING_SECONDS) == []
    assert theirs.waiting("got") == []
    with door.admin() as admin:
        for group in (f"{name}_grpc", f"{name}_remoting"):
            until(lambda group=group: admin.groups.lag(group, name) == 0)


@pytest.mark.parametrize("language", ["java"])
def test_a_group_of_both_kinds_shares_messages_where_all_pop(
    clients: Clients, newest_java: StartJava, door: Door, name: str
) -> None:
    """Java's consumers of remoting pop where the group is told so; each message goes to one member then."""
    door.create_topic(name)
    door.create_group(name)
    with door.admin() as admin:
        admin.groups.set_request_mode(name, name, "POP")
    ours = clients.push(name, {name: "*"})
    theirs = newest_java("Pop", "consume", door.nameserver, name, name)
    theirs.take("started", 1)
    producer = clients.producer(name)
    sent, by_grpc, by_remoting = set[Seen](), list[Got](), list[list[str]]()

    def both_got_some() -> bool:
        sent.update(send_by_grpc(producer, name, 10))
        sent.update(send_by_remoting(newest_java, door, name))
        by_grpc.extend(ours.within(0.2))
        by_remoting.extend(theirs.waiting("got"))
        return bool(by_grpc and by_remoting)

    def complete() -> bool:
        by_grpc.extend(ours.within(0.1))
        by_remoting.extend(theirs.waiting("got"))
        return len(by_grpc) + len(by_remoting) >= len(sent)

    until(both_got_some)
    until(complete)
    by_grpc += ours.within(NOTHING_SECONDS)
    by_remoting += theirs.waiting("got")
    ids = [got.id for got in by_grpc] + [line[4] for line in by_remoting]
    assert Counter(ids) == Counter(message.id for message in sent)
    bodies = {message.id: message.body for message in sent}
    assert {seen_by_grpc(got) for got in by_grpc} <= sent
    assert {line[4]: line[2] for line in by_remoting}.items() <= bodies.items()


@pytest.mark.parametrize("language", ["java"])
def test_members_that_pull_get_in_the_way_of_members_that_pop(
    clients: Clients, java: StartJava, door: Door, name: str
) -> None:
    """Nothing is lost, but what one has may come to the other as well: one looks for messages in all queues,
    the other takes its share of the queues as if each had one.
    """
    door.create_topic(name)
    ours = clients.push(name, {name: "*"})
    theirs = consumer_of_remoting(java, door, name, name)
    sent = send_by_grpc(clients.producer(name), name) | send_by_remoting(java, door, name)
    by_grpc, by_remoting = set[Seen](), set[Seen]()

    def complete() -> bool:
        by_grpc.update(seen_by_grpc(got) for got in ours.within(0.1))
        by_remoting.update(seen_by_remoting(line) for line in theirs.waiting("got"))
        return by_grpc | by_remoting == sent

    until(complete)
