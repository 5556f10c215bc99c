"""What becomes of messages that are sent on to another topic."""

from __future__ import annotations

from mqframe_cli.sending.forwarding import MARK, Forwarding, Together, forwarded
from mqframe_testing.consuming import received

from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.properties import decode_properties

QUEUES = [MessageQueue("wide", "b", number) for number in range(4)]


def message(offset: int, body: bytes = b"one", **properties: str) -> ReceivedMessage:
    return received(offset, body, UNIQ_KEY=f"ID{offset}", **properties)


def elements(batch: bytes) -> list[tuple[int, bytes, dict[str, str]]]:
    return [
        (flag, bytes(body), decode_properties(bytes(properties).decode()))
        for flag, body, properties in decode_batch(batch)
    ]


def test_a_copy_keeps_what_its_sender_gave_and_nothing_of_the_way() -> None:
    old = message(7, TAGS="paid", KEYS="o-1", colour="red", DELAY="3", REAL_TOPIC="x", TIMER_OUT_MS="9")
    ((_, body, properties),) = elements(forwarded(old))
    assert body == b"one"
    assert properties == {
        "UNIQ_KEY": "ID7", "TAGS": "paid", "KEYS": "o-1", "colour": "red", "WAIT": "true",
        MARK: f"orders@{old.broker_name}:{old.queue_id}:7",
    }  # fmt: skip


def test_a_sharding_key_has_one_queue_and_keeps_its_order() -> None:
    forwarding = Forwarding(QUEUES, 1 << 20)
    keyed = [message(n, f"{n}".encode(), __SHARDINGKEY="ab"[n % 2]) for n in range(6)]
    first = {queue: [body for _, body, _ in elements(batch)] for queue, batch in forwarding.batches(keyed)}
    assert first == {QUEUES[97 % 4]: [b"0", b"2", b"4"], QUEUES[98 % 4]: [b"1", b"3", b"5"]}
    again = {queue for queue, _ in forwarding.batches(keyed)}
    assert again == set(first)


def test_order_may_be_that_of_business_keys_or_of_queues() -> None:
    keyed = message(0, KEYS="o-1 o-2")
    assert [each.key_of(keyed) for each in Together] == [None, "o-1", "broker-a:0"]
    assert [each.key_of(message(0)) for each in Together] == [None, None, "broker-a:0"]
    assert {each.key_of(message(0, KEYS="o-1", __SHARDINGKEY="s")) for each in Together} == {"s"}


def test_what_has_no_key_goes_to_one_queue_after_the_other() -> None:
    forwarding = Forwarding(QUEUES, 1 << 20)
    used = [[queue.queue_id for queue, _ in forwarding.batches([message(0), message(1)])] for _ in range(5)]
    assert used == [[0], [1], [2], [3], [0]]


def test_batches_hold_no_more_bytes_than_they_may_unless_one_message_does() -> None:
    small = len(forwarded(message(0)))
    forwarding = Forwarding(QUEUES[:1], 2 * small)
    many = [message(0), message(1), message(2, b"x" * 5 * small), message(3)]
    sizes = [len(elements(batch)) for _, batch in forwarding.batches(many)]
    assert sizes == [2, 1, 1]


def test_nothing_makes_no_batch() -> None:
    assert list(Forwarding(QUEUES, 100).batches([])) == []
