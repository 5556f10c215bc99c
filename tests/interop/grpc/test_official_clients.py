"""Official gRPC clients of five languages at our door; at Apache's proxy they must see the same.

Where a client does something of its own, the test names it: what is not named, all do alike.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

import pytest
from real_time import until

from interop.grpc.clients import ClientError, Clients, Got
from interop.grpc.doors import POLLING_MS, Door
from mqframe import Puller, ReceivedMessage

MIB = 1 << 20
TEXT = "größer € 订单"
UNICODE = {"number": "7", "text": TEXT, "emoji": "🚪"}
APPEARS_SECONDS_MAX = 60.0
NOTHING_SECONDS = 3.0
"""How long nothing is to come, where nothing should."""


def stored(door: Door, topic: str) -> list[ReceivedMessage]:
    """All messages of `topic`, queue after queue."""
    with Puller(nameserver=door.nameserver) as puller:
        return [m for queue in puller.queues(topic) for m in puller.pull(queue, 0).messages]


def dead_letters(door: Door, group: str) -> list[ReceivedMessage]:
    """What `group` gave up, as soon as there is something."""
    found: list[ReceivedMessage] = []

    def come() -> bool:
        try:
            found[:] = stored(door, f"%DLQ%{group}")
        except Exception:  # the topic is made with its first message
            return False
        return bool(found)

    until(come)
    return found


def texts(messages: Iterable[Got]) -> list[str]:
    return [message.text for message in messages]


def numbered(count: int) -> list[str]:
    return [f"{number:03}" for number in range(count)]


@pytest.mark.proves("sending")
def test_a_message_in_all_its_parts(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"}, await_ms=1_000)
    sent = producer.send(name, TEXT, tag="größe", keys=["key1", "schlüssel"], properties=UNICODE)
    [got] = consumer.take(1)
    assert (got.topic, got.text, got.tag, got.keys) == (name, TEXT, "größe", ["key1", "schlüssel"])
    assert (got.properties, got.id, got.attempt, got.group) == (UNICODE, sent["id"], 1, None)
    assert got.born_ms is not None
    assert abs(got.born_ms - time.time() * 1000) < 60_000
    [message] = stored(door, name)
    assert (message.body.decode(), message.tag, sorted(message.keys)) == (TEXT, got.tag, got.keys)
    assert message.message_id == sent["id"]
    consumer.ack(got)
    assert consumer.receive() == []


@pytest.mark.proves("sending")
def test_a_message_with_a_body_alone(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"})
    body = bytes(range(256))
    producer.send(name, body)
    [got] = consumer.take(1)
    assert (got.body, got.tag, got.keys, got.properties, got.group) == (body, None, [], {}, None)
    consumer.ack(got)


def test_the_largest_body(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"})
    body = bytes(4 * MIB)
    sent = producer.send(name, body)
    assert [(m.message_id, len(m.body)) for m in stored(door, name)] == [(sent["id"], 4 * MIB)]
    if clients.language in ("go", "node", "rust"):
        # An answer may have 4 MiB there, and this one has more: these clients cannot be given the message.
        with pytest.raises(ClientError):
            consumer.take(1)
    else:
        [got] = consumer.take(1)
        assert got.body == body
        consumer.ack(got)


@pytest.mark.proves("sending")
def test_a_large_body_that_all_can_receive(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"})
    body = bytes(number % 251 for number in range(3 * MIB))
    producer.send(name, body)
    [got] = consumer.take(1)
    assert got.body == body
    consumer.ack(got)


@pytest.mark.proves("sending")
def test_a_body_that_is_too_large(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer = clients.producer(name)
    with pytest.raises(ClientError):
        producer.send(name, bytes(4 * MIB + 1))
    producer.send(name, "goes on")
    assert [m.body for m in stored(door, name)] == [b"goes on"]


@pytest.mark.proves("sending")
def test_a_topic_that_nobody_has(clients: Clients, door: Door, name: str) -> None:
    """It is not made at the first use."""
    with pytest.raises(ClientError) as refused:
        clients.producer(name).send(name, "lost")
    if clients.language == "java":
        assert (refused.value.kind, refused.value.code) == ("NotFoundException", 40402)


@pytest.mark.proves("sending")
def test_a_message_of_another_type_than_its_topic(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer = clients.producer(name)
    with pytest.raises(ClientError):
        producer.send(name, "x", group="group")
    with pytest.raises(ClientError):
        producer.send(name, "x", delay_ms=60_000)
    assert stored(door, name) == []


@pytest.mark.proves("TLS")
def test_plain_connections_beside_tls(clients: Clients, door: Door, name: str) -> None:
    if clients.language not in ("java", "go"):
        pytest.skip("its other tests are over plain connections; it trusts no certificate made at a start")
    door.create_topic(name)
    producer = clients.producer(name, tls=False)
    consumer = clients.simple(name, {name: "*"}, tls=False)
    producer.send(name, "plain")
    [got] = consumer.take(1)
    assert got.text == "plain"
    consumer.ack(got)


@pytest.mark.proves("consuming")
def test_a_push_consumer_gets_each_message_once(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    sent = {producer.send(name, text, properties={"number": text})["id"]: text for text in numbered(60)}
    got = consumer.take(60)
    assert {message.id: message.text for message in got} == sent
    assert {message.attempt for message in got} == {1}
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("consuming")
def test_members_share_a_group(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    members = [clients.push(name, {name: "*"}) for _ in range(2)]
    producer = clients.producer(name)
    got: list[Got] = []

    def complete() -> bool:
        for member in members:
            got.extend(member.within(0.1))
        return len(got) >= 60

    for text in numbered(60):
        producer.send(name, text)
    until(complete)
    got += [message for member in members for message in member.within(1)]
    assert sorted(texts(got)) == numbered(60)


@pytest.mark.proves("consuming")
def test_several_topics_of_one_consumer(clients: Clients, door: Door, name: str) -> None:
    if clients.language == "node":
        pytest.skip("its start waits for settings, which may have come before it waits")
    topics = [f"{name}_1", f"{name}_2"]
    for topic in topics:
        door.create_topic(topic)
    consumer = clients.push(name, dict.fromkeys(topics, "*"))
    producer = clients.producer(*topics)
    for number, text in enumerate(numbered(10)):
        producer.send(topics[number % 2], text)
    got = consumer.take(10)
    assert sorted((m.text, m.topic) for m in got) == [
        (text, topics[number % 2]) for number, text in enumerate(numbered(10))
    ]


@pytest.mark.proves("filters")
def test_tags(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    consumer, producer = clients.push(name, {name: "red || blue"}), clients.producer(name)
    for number, text in enumerate(numbered(12)):
        producer.send(name, text, tag=("red", "green", "blue")[number % 3])
    got = consumer.take(8)
    assert sorted((m.text, m.tag) for m in got) == [
        (text, ("red", "green", "blue")[number % 3])
        for number, text in enumerate(numbered(12))
        if number % 3 != 1
    ]
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("filters")
def test_sql(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    consumer = clients.simple(name, {name: "sql:number >= 3 AND colour = 'red' OR TAGS = 'always'"})
    producer = clients.producer(name)
    for number in range(8):
        properties = {"number": str(number), "colour": ("red", "green")[number % 2]}
        producer.send(name, str(number), tag="always" if number == 1 else "tag", properties=properties)
    got = consumer.take(3)
    assert sorted(texts(got)) == ["1", "4", "6"]
    consumer.ack(*got)
    assert consumer.receive() == []


@pytest.mark.proves("order")
def test_order_within_message_groups(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "FIFO")
    door.create_group(name, ordered=True)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    for text in numbered(12):
        for group in "abc":
            producer.send(name, text, group=group)
    got = consumer.take(36)
    by_group = defaultdict(list)
    for message in got:
        by_group[message.group].append(message.text)
    assert by_group == {group: numbered(12) for group in "abc"}
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("order")
def test_an_ordered_message_that_fails_once(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "FIFO")
    door.create_group(name, ordered=True)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    for text in numbered(5):
        producer.send(name, text, group="a", properties={"fails": "1"} if text == "001" else None)
    match clients.language:
        case "go":
            # It does not wait for the message that failed.
            got = consumer.take(6)
            assert sorted(texts(got)) == ["000", "001", "001", "002", "003", "004"]
        case "node":
            # It knows exponential back-offs alone; with another, as groups have, it makes one attempt.
            assert texts(consumer.take(5)) == numbered(5)
            assert [m.body.decode() for m in dead_letters(door, name)] == ["001"]
        case _:
            assert texts(consumer.take(6)) == ["000", "001", "001", "002", "003", "004"]
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("order")
def test_an_ordered_message_that_is_given_up(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "FIFO")
    door.create_group(name, ordered=True, retries=1)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    for text in numbered(3):
        producer.send(name, text, group="a", properties={"fails": "99"} if text == "001" else None)
    times = 1 if clients.language == "node" else 2
    got = consumer.take(2 + times)
    assert sorted(texts(got)) == ["000", *["001"] * times, "002"]
    if clients.language in ("java", "python"):
        assert texts(got) == ["000", "001", "001", "002"]
    [letter] = dead_letters(door, name)
    assert letter.body == b"001"
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("delay")
def test_delayed_messages(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "DELAY")
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    begun = time.monotonic()
    producer.send(name, "later", delay_ms=6_000, properties=UNICODE)
    producer.send(name, "sooner", delay_ms=3_000)
    sooner, later = consumer.take(2)
    assert texts([sooner, later]) == ["sooner", "later"]
    assert later.properties == UNICODE
    # The timer's steps are seconds, and so are times of delivery in Python.
    assert 2 <= sooner.at - begun < 3 + APPEARS_SECONDS_MAX
    assert 5 <= later.at - begun < 6 + APPEARS_SECONDS_MAX
    assert later.delivery_ms
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("recall")
def test_what_is_recalled_does_not_come(clients: Clients, door: Door, name: str) -> None:
    if clients.language in ("go", "rust"):
        pytest.skip("this client has no recall")
    door.create_topic(name, "DELAY")
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    recalled = producer.send(name, "recalled", delay_ms=8_000)
    producer.send(name, "kept", delay_ms=8_000)
    assert producer.recall(name, recalled["recall_handle"]) == recalled["id"]
    assert texts(consumer.take(1)) == ["kept"]
    assert consumer.within(NOTHING_SECONDS) == []
    with pytest.raises(ClientError):
        producer.recall(name, recalled["recall_handle"])
    with pytest.raises(ClientError):
        producer.recall(name, "rubbish")


@pytest.mark.proves("transactions")
def test_a_transaction_that_is_committed_or_rolled_back(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "TRANSACTION")
    producer = clients.producer(name, checker=True)
    consumer = clients.push(name, {name: "*"})
    kept = producer.send(name, "kept", tag="tag", keys=["key"], properties=UNICODE, transaction=True)
    dropped = producer.send(name, "dropped", transaction=True)
    assert consumer.within(1) == []
    producer.end_transaction(dropped["id"], "rollback")
    producer.end_transaction(kept["id"], "commit")
    [got] = consumer.take(1)
    assert (got.text, got.tag, got.keys, got.id) == ("kept", "tag", ["key"], kept["id"])
    # Apache's proxy shows the transaction's id, too.
    assert got.properties.items() >= UNICODE.items()
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("transactions")
def test_a_transaction_that_nobody_ended_is_asked_about(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name, "TRANSACTION")
    producer = clients.producer(name, checker=True)
    consumer = clients.push(name, {name: "*"})
    checks = {"kept": "commit", "dropped": "rollback", "late": "unknown,commit"}
    sent = {
        text: producer.send(name, text, properties={"check": check, **UNICODE}, transaction=True)["id"]
        for text, check in checks.items()
    }
    decided: dict[str, list[str]] = {text: [] for text in sent}
    # What is being decided may be asked about once more.
    while not (decided["kept"] and decided["dropped"] and "commit" in decided["late"]):
        got, decision = producer.checked()
        decided[got.text].append(decision)
        assert (got.topic, got.id, got.properties["text"]) == (name, sent[got.text], TEXT)
    assert set(decided["kept"]) == {"commit"}
    assert set(decided["dropped"]) == {"rollback"}
    assert decided["late"][:2] == ["unknown", "commit"]
    delivered: list[Got] = []
    while {got.text for got in delivered} != {"kept", "late"}:
        delivered += consumer.take(1)
    delivered += consumer.within(NOTHING_SECONDS)
    assert {got.text: got.id for got in delivered} == {text: sent[text] for text in ("kept", "late")}
    # Apache's broker delivers as often as it was told to commit.
    assert door.apache or len(delivered) == 2


@pytest.mark.proves("pop")
def test_a_simple_consumer_acknowledges_changes_and_leaves(clients: Clients, door: Door, name: str) -> None:
    if clients.language == "rust":
        pytest.skip("this client cannot change for how long a message is hidden")
    # The times below are for few queues: clients ask for one after the other.
    door.create_topic(name, queues=1)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"}, await_ms=1_000)
    for text in ("acknowledged", "changed", "left"):
        producer.send(name, text)
    first = {message.text: message for message in consumer.take(3, invisible_ms=8_000)}
    assert {message.attempt for message in first.values()} == {1}
    consumer.ack(first["acknowledged"])
    consumer.change(first["changed"], 1_000)
    begun = time.monotonic()
    [changed] = consumer.take(1)
    assert (changed.text, changed.attempt, changed.id) == ("changed", 2, first["changed"].id)
    assert changed.at - begun < 7
    consumer.ack(changed)
    [left] = consumer.take(1)
    assert (left.text, left.attempt, left.id) == ("left", 2, first["left"].id)
    assert left.at - first["left"].at > 7
    consumer.ack(left)
    assert consumer.receive() == []


@pytest.mark.proves("pop")
def test_a_simple_consumer_keeps_a_message_by_changes(clients: Clients, door: Door, name: str) -> None:
    """Each change gives the client another handle, by which it goes on."""
    if clients.language == "rust":
        pytest.skip("this client cannot change for how long a message is hidden")
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"})
    producer.send(name, "kept")
    [got] = consumer.take(1, invisible_ms=8_000)
    for _ in range(3):
        consumer.change(got, 8_000)
        assert consumer.receive() == []
    consumer.ack(got)
    assert consumer.receive() == []
    assert consumer.receive() == []


@pytest.mark.proves("pop")
def test_an_acknowledgement_that_comes_too_late(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    producer, consumer = clients.producer(name), clients.simple(name, {name: "*"})
    producer.send(name, "late")
    [got] = consumer.take(1, invisible_ms=2_000)
    [again] = consumer.take(1)
    assert (again.id, again.attempt) == (got.id, 2)
    if clients.language == "go":
        consumer.ack(got)  # it says nothing of how its acknowledgements are answered
    else:
        with pytest.raises(ClientError) as refused:
            consumer.ack(got)
        assert refused.value.code == 40013
    consumer.ack(again)


@pytest.mark.proves("retry")
def test_what_a_push_consumer_fails_comes_again(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    sent = producer.send(name, "again", tag="tag", keys=["key"], properties={"fails": "1", **UNICODE})
    first, second = consumer.take(2)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.id == second.id == sent["id"]
    assert (second.topic, second.text, second.tag, second.keys) == (name, "again", "tag", ["key"])
    assert second.properties == first.properties == {"fails": "1", **UNICODE}
    # Node's takes no back-off but exponential ones, and waits for nothing with another, which groups have.
    pause = 0 if clients.language == "node" else 0.8
    # Apache's broker looks for what comes again at the beginning and at the end of a poll.
    assert pause < second.at - first.at < 1 + POLLING_MS[1] / 1000 + 10
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("retry")
def test_what_a_push_consumer_gives_up_is_a_dead_letter(clients: Clients, door: Door, name: str) -> None:
    door.create_topic(name)
    door.create_group(name, retries=1)
    consumer, producer = clients.push(name, {name: "*"}), clients.producer(name)
    sent = producer.send(name, "dies", tag="tag", keys=["key"], properties={"fails": "99", **UNICODE})
    assert [message.attempt for message in consumer.take(2)] == [1, 2]
    [letter] = dead_letters(door, name)
    assert (letter.body, letter.tag, letter.keys) == (b"dies", "tag", ["key"])
    assert letter.properties["text"] == TEXT
    assert letter.message_id == sent["id"]
    assert consumer.within(NOTHING_SECONDS) == []


@pytest.mark.proves("consuming")
def test_what_a_closed_member_would_get_goes_to_another_at_once(
    clients: Clients, door: Door, name: str
) -> None:
    if door.apache and clients.language == "python":
        pytest.skip("it leaves its polls behind, for which this proxy hides messages for a minute")
    door.create_topic(name)
    leaving, staying = clients.push(name, {name: "*"}), clients.push(name, {name: "*"})
    producer = clients.producer(name)
    producer.send(name, "first")
    until(lambda: leaving.within(0.05) or staying.within(0.05))
    leaving.close()
    begun = time.monotonic()
    for text in numbered(10):
        producer.send(name, text)
    assert sorted(texts(staying.take(10, 30))) == numbered(10)
    assert time.monotonic() - begun < 15


@pytest.mark.proves("consuming")
def test_what_a_killed_member_would_get_goes_to_another_at_once(
    clients: Clients, others: Callable[[], Clients], door: Door, name: str
) -> None:
    if door.apache:
        pytest.skip("the polls of lost clients stay, and this proxy hides messages for them for a minute")
    door.create_topic(name)
    other = others()
    lost, staying = other.push(name, {name: "*"}), clients.push(name, {name: "*"})
    producer = clients.producer(name)
    producer.send(name, "first")
    until(lambda: lost.within(0.05) or staying.within(0.05))
    other.program.process.kill()
    other.program.process.wait()
    begun = time.monotonic()
    for text in numbered(10):
        producer.send(name, text)
    assert sorted(texts(staying.take(10, 30))) == numbered(10)
    assert time.monotonic() - begun < 15


@pytest.mark.long
@pytest.mark.proves("consuming")
def test_a_message_that_takes_long_does_not_come_again(clients: Clients, door: Door, name: str) -> None:
    """It is hidden for a minute at first, and kept hidden while the client has it."""
    if clients.language == "rust":
        pytest.skip("this client has no push consumer, for which a message would be kept hidden")
    door.create_topic(name)
    consumers = [clients.push(name, {name: "*"}) for _ in range(2)]
    clients.producer(name).send(name, "slow", properties={"hangs_ms": "74000"})
    got = consumers[0].within(75) + consumers[1].within(0.1)
    assert [(message.text, message.attempt) for message in got] == [("slow", 1)]
