from __future__ import annotations

from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import PendingRecord, SendRule, StoredAt

FIELDS = SendMessageV2("p", "orders", "TBW102", 4, -1, 8, 1_700_000_000_000, 0, "TAGS\x01paid\x02")


def test_a_record_goes_where_its_sender_wants_it() -> None:
    properties = {"TAGS": "paid"}
    record = PendingRecord(FIELDS, b"body", 3, properties)
    assert (record.topic, record.counted_as, record.queue_id, record.sys_flag) == ("orders", "orders", 3, 8)
    assert (record.body, record.properties, record.is_batch) == (b"body", {"TAGS": "paid"}, False)
    assert record.answer == {}


def test_what_a_rule_changes_leaves_the_words_of_the_sender() -> None:
    record, other = (
        PendingRecord(FIELDS, b"body", 3, {}),
        PendingRecord(FIELDS, b"body", 3, {}, is_batch=True),
    )
    record.topic, record.queue_id, record.answer["transactionId"] = "diverted", 0, "x"
    assert (record.fields.topic, record.counted_as) == ("orders", "orders")
    assert (other.topic, other.queue_id, other.answer, other.is_batch) == ("orders", 3, {}, True)


def test_a_rule_that_implements_nothing_sees_no_message_and_passes_what_it_is_shown() -> None:
    rule, record = SendRule(), PendingRecord(FIELDS, b"body", 3, {})
    assert (rule.names, rule.batches) == (frozenset(), False)
    assert rule.before(record) is None
    rule.after(record, StoredAt(3, Stored(0, 0, 100, 1_700_000_000_001)))
    assert record.answer == {}
