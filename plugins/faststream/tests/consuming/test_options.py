"""What subscribers may ask for, and what is said at once when it makes no sense."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from faststream import AckPolicy
from faststream.exceptions import SetupError
from hypothesis import given
from hypothesis import strategies as st
from mqframe_faststream import MqframeBroker, OptionError
from mqframe_faststream.consuming.options import SubscriberPlan, expression_of, records

from mqframe import FixError, MessageQueue, Sql

QUEUE = MessageQueue("orders", "broker-a", 0)
WRONG = [
    ({"tags": "paid", "sql": "a = 1"}, "tags and sql are given"),
    ({"tags": ""}, "tags is empty"),
    ({"tags": []}, "tags is empty"),
    ({"tags": "paid refunded"}, "'paid refunded' is no tag"),
    ({"tags": "paid|refunded"}, "is no tag"),
    ({"tags": ["paid", "a|b"]}, r"'a\|b' is no tag"),
    ({"tags": ["paid", ""]}, "'' is no tag"),
    ({"tags": ["*", "paid"]}, r"'\*' is no tag"),
    ({"tags": "* || paid"}, "stands alone"),
    ({"sql": " "}, "not empty"),
    ({"topic": ""}, "topic is a name"),
    ({"topic": "a.b"}, "may hold only"),
    ({"group": "a b"}, "may hold only"),
    ({"max_records": 5}, "max_records is for batch=True"),
    ({"max_records": 0, "batch": True}, "max_records is 0"),
    ({"max_records": 1025, "batch": True}, "1 to 1024"),
    ({"max_workers": 0}, "max_workers is 0"),
    ({"consume_from": "middle"}, "'middle'"),
    ({"consume_from": datetime(2026, 1, 1)}, "without a time zone"),
    ({"consume_from": 1_700_000_000}, "not seconds"),
    ({"consume_timeout": 0}, "more than 0"),
    ({"max_reconsume_times": -1}, "0 is the least"),
    ({"pattern": "orders-{region}"}, "a topic or a pattern"),
    ({"topic": "", "pattern": "orders"}, "give it as the topic"),
    ({"topic": "", "pattern": "orders-{region}", "queues": [QUEUE]}, "'orders': a topic or a pattern"),
    ({"queues": []}, "there are none"),
    ({"queues": QUEUE}, "'orders' is no MessageQueue"),
    ({"queues": [("orders", "broker-a", 0)]}, "is no MessageQueue"),
    ({"queues": {QUEUE: -1}}, "-1 is no offset"),
    ({"queues": {QUEUE: "first"}}, "'first' is no offset"),
    ({"topic": "bills", "queues": [QUEUE]}, "of topics bills, orders; give each topic"),
    ({"queues": [QUEUE, QUEUE._replace(topic="bills")]}, "of topics bills, orders"),
    ({"queues": [QUEUE._replace(topic="a.b")], "topic": ""}, "may hold only"),
    ({"queues": [QUEUE], "ordered": True}, "ordered is for what groups share"),
    ({"queues": [QUEUE], "broadcasting": True}, "broadcasting is for what groups share"),
    ({"queues": [QUEUE], "consume_timeout": 5}, "consume_timeout is for what groups share"),
    ({"queues": [QUEUE], "mode": "pop"}, "mode 'pop' reads no queues"),
    ({"broadcasting": True, "ack_policy": AckPolicy.REJECT_ON_ERROR}, "nobody keeps"),
    ({"broadcasting": True, "ack_policy": AckPolicy.MANUAL}, "nobody keeps"),
]


@pytest.mark.parametrize(("options", "match"), WRONG, ids=[str(options) for options, _ in WRONG])
def test_what_makes_no_sense_is_an_error_of_both_families(options, match) -> None:
    broker = MqframeBroker()
    with pytest.raises(OptionError, match=match) as caught:
        broker.subscriber(**{"topic": "orders", **options})
    assert isinstance(caught.value, FixError)
    assert isinstance(caught.value, SetupError)
    assert broker.subscribers == []


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="colour"):
        MqframeBroker().subscriber("orders", colour="red")


@pytest.mark.parametrize(
    "options",
    [
        {"ordered": True, "batch": True, "max_records": 5},
        {"consume_from": datetime(2026, 1, 1, tzinfo=UTC)},
        {"consume_from": 1_700_000_000_000},
        {"broadcasting": True, "ack_policy": AckPolicy.ACK},
        {"broadcasting": True},
        {"sql": Sql("a > 1")},
        {"tags": Sql("a > 1")},
        {"tags": "*"},
        {"queues": [QUEUE]},
        {"queues": {QUEUE: 5, QUEUE._replace(queue_id=1): None}, "batch": True, "max_workers": 2},
        {"topic": "", "queues": [QUEUE], "consume_from": "first", "max_reconsume_times": 3},
        {"topic": "", "pattern": "orders-{region}", "mode": "pop"},
    ],
)
def test_what_makes_sense_is_taken(options) -> None:
    MqframeBroker().subscriber(**{"topic": "orders", **options})


@given(st.lists(st.text("abcäöü-_:.", min_size=1), min_size=1, unique=True))
def test_lists_and_texts_of_tags_mean_the_same(tags) -> None:
    text = " || ".join(tags)
    assert expression_of(tags, None, "t") == expression_of(text, None, "t") == text


def test_expressions_stay_expressions() -> None:
    assert expression_of(None, None, "t") == "*"
    assert expression_of(None, "a = 1", "t") == Sql("a = 1")


def test_records_are_one_unless_there_are_batches() -> None:
    assert [records(False, None, "t"), records(True, None, "t"), records(True, 7, "t")] == [1, 32, 7]


def test_a_plan_that_does_not_say_where_to_begin_begins_as_usual() -> None:
    assert SubscriberPlan(topic="orders").beginning("first").consume_from == "first"
    own = SubscriberPlan(topic="orders", consume_from="last")
    assert own.beginning("first") is own
