"""The rule, with records made by hand and a store that is a counter."""

from __future__ import annotations

import pytest
from mqframe_deduplication.options import DeduplicationOptions
from mqframe_deduplication.rebuilding import Rebuilding
from mqframe_deduplication.rule import Once
from mqframe_deduplication.window import Window, identity
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.recall_handle import recall_handle
from mqframe.core.errors import Refusal
from mqframe.core.messages.batch import decode_batch, encode_element
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.messages import SendMessage
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.hooks.interfaces import PendingRecord, StoredAt

KEY = "IDEMPOTENCE_KEY"


class Sends:
    """Sends to a rule and stores what it lets through; `log` holds the records."""

    def __init__(self, **options: object) -> None:
        self.options = DeduplicationOptions(**options)  # type: ignore[arg-type]
        self.clock = ManualClock(1_000_000)
        self.window = Window(self.options.window_seconds * 1000, self.options.keys_max)
        self.rule = Once(self.options, self.window, self.clock, "id-{}".format)
        self.log: list[ReceivedMessage] = []
        self.end = 0

    def send(
        self, properties: dict[str, str], topic: str = "orders", group: str = "shop", answer: str = ""
    ) -> tuple[StoredAt, PendingRecord]:
        record = self.record(properties, topic, group)
        if answer:
            record.answer["recallHandle"] = answer
        earlier = self.rule.before(record)
        if earlier is not None:
            return earlier, record
        stored = self.store(record.topic, record.properties)
        result = StoredAt(2, stored)
        self.rule.after(record, result)
        return result, record

    def record(
        self, properties: dict[str, str], topic: str = "orders", group: str = "shop", body: bytes = b"x",
        is_batch: bool = False,
    ) -> PendingRecord:  # fmt: skip
        fields = SendMessage(group, topic, "TBW102", 4, 2, 0, 0, 0)
        return PendingRecord(fields, body, 2, dict(properties), is_batch=is_batch)

    def send_batch(self, *keys: str | None, group: str = "shop") -> tuple[StoredAt, PendingRecord]:
        body = b"".join(
            encode_element(b"b", encode_properties({"UNIQ_KEY": f"u{n}", KEY: key or ""}).encode())
            for n, key in enumerate(keys)
        )
        record = self.record({}, body=body, is_batch=True, group=group)
        earlier = self.rule.before(record)
        if earlier is not None:
            return earlier, record
        first, offsets = len(self.log), []
        for _, _, raw in decode_batch(record.body):
            pairs = dict(pair.split("\x01") for pair in str(raw, "utf-8").split("\x02") if pair)
            offsets.append(self.store("orders", pairs).commit_log_offset)
        result = StoredAt(2, StoredBatch(offsets, first, self.end, self.clock.now_ms()))
        self.rule.after(record, result)
        return result, record

    def store(self, topic: str, properties: dict[str, str]) -> Stored:
        stored = Stored(self.end, len(self.log), 100, self.clock.now_ms())
        raw = encode_properties(properties).encode()
        where = (topic, 2, stored.queue_offset, self.end, 100)
        times_hosts_and_flags = (0, stored.store_timestamp, b"", b"", 0, 0, 0, 0, 0)
        self.log.append(ReceivedMessage(*where, *times_hosts_and_flags, b"x", raw, "broker-a"))
        self.end += 100
        return stored

    def rebuilt(self) -> Window:
        window = Window(self.options.window_seconds * 1000, self.options.keys_max)
        rebuilding = Rebuilding(self.options, window, "broker-a")
        for message in self.log:
            rebuilding.note(message)
        return window


def test_a_double_gets_the_first_result_and_is_not_stored() -> None:
    sends = Sends()
    first, _ = sends.send({KEY: "k", "UNIQ_KEY": "u1"})
    double, record = sends.send({KEY: "k", "UNIQ_KEY": "u2"})
    assert double == first == StoredAt(2, Stored(0, 0, 100, 1_000_000))
    assert record.answer == {"transactionId": "u1"}
    assert (len(sends.log), sends.rule.doubles) == (1, 1)


def test_messages_without_a_key_or_with_another_one_are_stored() -> None:
    sends = Sends()
    for properties in ({}, {}, {KEY: "a"}, {KEY: "b"}, {"OTHER": "a"}):
        sends.send(properties)
    sends.send({KEY: "a"}, topic="bills")
    assert len(sends.log) == 6


def test_a_key_is_free_again_after_its_time_and_after_more_keys() -> None:
    sends = Sends(window_seconds=10, keys_max=2)
    sends.send({KEY: "a"})
    sends.clock.advance(9.999)
    sends.send({KEY: "a"})
    assert len(sends.log) == 1
    sends.clock.advance(0.001)
    sends.send({KEY: "a"})
    assert len(sends.log) == 2
    for key in ("b", "c", "a"):
        sends.send({KEY: key})
    assert len(sends.log) == 5


def test_a_send_that_the_store_refused_leaves_its_key_free() -> None:
    sends = Sends()
    assert sends.rule.before(sends.record({KEY: "k"})) is None  # nothing was stored, `after` is not called
    sends.send({KEY: "k"})
    assert len(sends.log) == 1


def test_in_the_scope_of_a_group_others_may_use_the_same_key() -> None:
    sends = Sends(scope="group")
    sends.send({KEY: "k"}, group="shop")
    sends.send({KEY: "k"}, group="web")
    sends.send({KEY: "k"}, group="shop")
    assert [message.properties["IDEMPOTENCE_GROUP"] for message in sends.log] == ["shop", "web"]
    again = sends.rebuilt()
    for group, place in (("shop", 0), ("web", 100)):
        found = again.find(identity("orders", group, "k"), sends.clock.now_ms())
        assert found is not None
        assert found.commit_log_offset == place


def test_another_property_may_hold_the_key() -> None:
    sends = Sends(property="order-id")
    assert sends.rule.names == {"order-id"}
    for properties in ({"order-id": "k"}, {"order-id": "k"}, {KEY: "k"}, {KEY: "k"}):
        sends.send(properties)
    assert len(sends.log) == 3


def test_a_delayed_message_is_a_double_of_a_delayed_one_and_can_be_taken_back_with_its_handle() -> None:
    sends = Sends()
    waiting = {
        KEY: "k",
        "REAL_TOPIC": "orders",
        "REAL_QID": "3",
        "TIMER_OUT_MS": "1700000001000",
        "UNIQ_KEY": "u1",
    }
    handle = recall_handle("orders", "broker-a", 1_700_000_001_000, "u1")
    first, _ = sends.send(waiting, "rmq_sys_wheel_timer", answer=handle)
    double, record = sends.send(waiting | {"UNIQ_KEY": "u2"}, "rmq_sys_wheel_timer", answer="another")
    assert double == first
    assert record.answer == {"transactionId": "u1", "recallHandle": handle}
    now, plain = sends.send({KEY: "k"}, answer="another")
    assert now == first, "whether it waits is no part of the key"
    assert plain.answer["recallHandle"] == handle
    sends.store("orders", waiting)  # delivered
    found = sends.rebuilt().find(identity("orders", "", "k"), sends.clock.now_ms())
    assert found is not None
    assert (found.commit_log_offset, found.queue_id, found.unique_key) == (0, 3, "u1")
    assert found.recall_handle == handle


def test_retried_half_and_dead_messages_are_stored_however_often() -> None:
    sends = Sends()
    for topic, more in (
        ("%RETRY%billing", {}),
        ("RMQ_SYS_TRANS_HALF_TOPIC", {"TRAN_MSG": "true", "REAL_TOPIC": "orders"}),
        ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "%RETRY%billing"}),
        ("%DLQ%billing", {}),
    ):
        for _ in range(2):
            sends.send({KEY: "k"} | more, topic)
    assert len(sends.log) == 8
    sends.send({KEY: "k"})
    assert len(sends.log) == 9, "none of them took the key"


def test_a_batch_of_doubles_is_answered_with_the_first_result() -> None:
    sends = Sends()
    first, _ = sends.send_batch("a", "b", "c")
    double, record = sends.send_batch("a", "b", "c")
    assert double == first
    assert record.answer == {"msgId": "id-0,id-100,id-200"}
    assert len(sends.log) == 3


def test_of_a_batch_only_new_messages_are_stored_and_each_is_told_its_place() -> None:
    sends = Sends()
    sends.send({KEY: "b"})
    result, record = sends.send_batch("a", "b", None, "a", "c")
    assert [message.properties.get(KEY) for message in sends.log] == ["b", "a", None, "c"]
    assert result == StoredAt(2, StoredBatch([100, 200, 300], 1, 400, 1_000_000))
    assert record.answer == {
        "msgId": "id-100,id-0,id-200,id-100,id-300",
        "batchPlaces": "2:1,2:0,2:2,2:1,2:3",
    }
    assert sends.rule.doubles == 2
    all_doubles, record = sends.send_batch("c", "b")
    assert all_doubles == StoredAt(2, StoredBatch([300, 0], 3, 400, 1_000_000))
    assert record.answer == {"msgId": "id-300,id-0", "batchPlaces": "2:3,2:0"}


def test_a_batch_of_new_messages_is_stored_as_it_is() -> None:
    sends = Sends()
    _, record = sends.send_batch("a", None, "b")
    assert record.answer == {}
    plain = sends.record({}, body=encode_element(b"IDEMPOTENCE_KEY", b""), is_batch=True)
    body = plain.body
    assert sends.rule.before(plain) is None
    assert plain.body is body


def test_a_batch_that_the_store_refused_leaves_its_keys_free() -> None:
    sends = Sends()
    body = encode_element(b"b", encode_properties({KEY: "a"}).encode())
    assert sends.rule.before(sends.record({}, body=body, is_batch=True)) is None
    sends.send_batch("a")
    assert len(sends.log) == 1


def test_a_broken_batch_is_refused() -> None:
    sends = Sends()
    with pytest.raises(Refusal) as caught:
        sends.rule.before(sends.record({}, body=b"\x00\x00\x00\x09IDEMPOTENCE_KEY", is_batch=True))
    assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL


def test_batches_in_the_scope_of_a_group() -> None:
    sends = Sends(scope="group")
    for group in ("shop", "web", "shop"):
        sends.send_batch("a", "b", group=group)
    assert [message.properties["IDEMPOTENCE_GROUP"] for message in sends.log] == ["shop"] * 2 + ["web"] * 2
    assert sends.rebuilt().find(identity("orders", "web", "b"), 1_000_001) is not None


def test_the_log_gives_the_window_that_was() -> None:
    sends = Sends(window_seconds=10)
    for key in ("a", "b", "a", "c"):
        sends.send({KEY: key, "UNIQ_KEY": f"u-{key}"})
        sends.clock.advance(3)
    sends.send_batch("d", "a", None)
    again, now = sends.rebuilt(), sends.clock.now_ms()
    for key in "abcd":
        wanted = sends.window.find(identity("orders", "", key), now)
        assert again.find(identity("orders", "", key), now) == wanted
