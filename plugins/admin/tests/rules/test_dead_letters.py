"""Which dead letters are meant, and what their copies say."""

import pytest
from mqframe_admin.rules.dead_letters import (
    DeadLetterFilter,
    ResendTo,
    copy_properties,
    dead_letter,
    target,
    was_sent_again,
)

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.properties import encode_properties

PROPERTIES = {
    "UNIQ_KEY": "K",
    "KEYS": "o-1 o-2",
    "TAGS": "paid",
    "colour": "red",
    "__SHARDINGKEY": "customer-7",
    "RETRY_TOPIC": "orders",
    "ORIGIN_MESSAGE_ID": "first",
    "DELAY": "0",
    "WAIT": "false",
    "REAL_TOPIC": "%RETRY%g",
    "REAL_QID": "0",
    "TIMER_OUT_MS": "5",
    "MSG_REGION": "DefaultRegion",
    "TRACE_ON": "true",
    "CLUSTER": "DefaultCluster",
    "RECONSUME_TIME": "3",
    "MQFRAME_REASON": "why",
    "MAX_RECONSUME_TIMES": "2",
}
ID = "0A01010100002A9F0000000000000077"


def letter(properties=None, *, stored=100):
    raw = encode_properties(PROPERTIES if properties is None else properties).encode()
    host = bytes((10, 1, 1, 1, 0, 0, 0x2A, 0x9F))
    message = ReceivedMessage(
        "%DLQ%g", 0, 5, 0x77, 300, 1, stored, host, host, 17, 0, 9, 0, 0, b"body", raw, "broker-a"
    )
    return dead_letter("g", message)


def test_where_a_dead_letter_lies_and_comes_from():
    found = letter()
    assert (found.group, found.topic, found.place) == ("g", "orders", MessageQueue("%DLQ%g", "broker-a", 0))
    assert (found.id, found.unique_key, found.mark) == (ID, "K", f"g@{ID}")
    assert (found.reason, letter({}).reason) == ("why", "")
    # Somebody else's message in that topic is what it is.
    assert letter({"UNIQ_KEY": "K"}).topic == "%DLQ%g"


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({}, True),
        ({"key": "o-2"}, True),
        ({"key": "o"}, False),
        ({"key": "K"}, True),
        ({"key": ID}, True),
        ({"tag": "paid"}, True),
        ({"tag": "refunded"}, False),
        ({"topic": "orders"}, True),
        ({"topic": "%DLQ%g"}, False),
        ({"begin_ms": 100, "end_ms": 100}, True),
        ({"begin_ms": 101}, False),
        ({"end_ms": 99}, False),
        ({"key": "o-1", "tag": "other"}, False),
    ],
)
def test_filters(fields, meant):
    assert DeadLetterFilter(**fields).matches(letter()) is meant


def test_a_copy_for_the_group_keeps_what_is_the_senders_and_says_where_it_is_from():
    assert target(letter(), ResendTo.GROUP) == "%RETRY%g"
    assert copy_properties(letter(), ResendTo.GROUP) == {
        "UNIQ_KEY": "K",
        "KEYS": "o-1 o-2",
        "TAGS": "paid",
        "colour": "red",
        "__SHARDINGKEY": "customer-7",
        "RETRY_TOPIC": "orders",
        "ORIGIN_MESSAGE_ID": "first",
        "WAIT": "true",
        "MQFRAME_DEAD_LETTER": f"g@{ID}",
    }


def test_a_copy_for_the_topic_is_a_first_copy_there():
    assert target(letter(), ResendTo.TOPIC) == "orders"
    made = copy_properties(letter(), ResendTo.TOPIC)
    assert "RETRY_TOPIC" not in made
    assert "ORIGIN_MESSAGE_ID" not in made
    assert (made["UNIQ_KEY"], made["MQFRAME_DEAD_LETTER"]) == ("K", f"g@{ID}")


def test_a_letter_without_unique_key_gets_one_that_is_always_the_same():
    nameless = letter({"RETRY_TOPIC": "orders"})
    assert copy_properties(nameless, ResendTo.GROUP)["UNIQ_KEY"] == nameless.id == ID


def test_copies_are_known_by_their_mark():
    again = letter({**PROPERTIES, "MQFRAME_DEAD_LETTER": f"g@{ID}"}).message
    of_another_group = letter({**PROPERTIES, "MQFRAME_DEAD_LETTER": f"h@{ID}"}).message
    assert was_sent_again(letter(), [of_another_group, again])
    assert not was_sent_again(letter(), [of_another_group, letter().message])
    assert not was_sent_again(letter(), [])
