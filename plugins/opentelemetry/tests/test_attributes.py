"""What is told of messages, without a broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_opentelemetry import TelemetryOptions, names
from mqframe_opentelemetry.attributes import (
    error_type,
    operation_attributes,
    own_attributes,
    queue_attributes,
    received_attributes,
    sent_attributes,
    server_attributes,
    shared_attributes,
)
from mqframe_testing.conformance.hooks import TIME_MS, received_message

from mqframe.core.errors import CallTimeout
from mqframe.core.messages.message import Message, MessageQueue

OPTIONS = TelemetryOptions()


@pytest.mark.parametrize(
    ("topic", "option", "namespace"),
    [
        ("orders", "", None),
        ("orders", "eu", "eu"),
        ("shop%orders", "", "shop"),
        ("shop%orders", "eu", "shop"),
        ("%RETRY%billing", "", None),
    ],
)
def test_the_namespace_of_a_topic(topic: str, option: str, namespace: str | None) -> None:
    told = operation_attributes("send", topic, TelemetryOptions(namespace=option))
    assert told.get(names.NAMESPACE) == namespace
    assert told[names.DESTINATION] == topic


@pytest.mark.parametrize(
    ("properties", "key", "told"),
    [
        ({}, None, {names.MESSAGE_TYPE: "normal"}),
        ({}, 7, {names.MESSAGE_TYPE: "fifo", names.MESSAGE_GROUP: "7"}),
        ({"__SHARDINGKEY": "a"}, None, {names.MESSAGE_TYPE: "fifo", names.MESSAGE_GROUP: "a"}),
        ({"DELAY": "3"}, None, {names.MESSAGE_TYPE: "delay", names.DELAY_LEVEL: 3}),
        ({"DELAY": "three"}, None, {names.MESSAGE_TYPE: "delay"}),
        (
            {"TIMER_DELIVER_MS": "1700000000000"},
            None,
            {names.MESSAGE_TYPE: "delay", names.DELIVERY_TIMESTAMP: 1_700_000_000_000},
        ),
        ({"TRAN_MSG": "true", "DELAY": "3"}, None, {names.MESSAGE_TYPE: "transaction"}),
        ({"CORRELATION_ID": "c-1"}, None, {names.MESSAGE_TYPE: "normal", names.CONVERSATION_ID: "c-1"}),
    ],
)
def test_how_a_message_is_delivered(properties: dict[str, str], key: object, told: dict) -> None:
    assert sent_attributes(Message("orders", b"x", properties=properties), key, OPTIONS) == told


def test_delays_count_from_when_a_message_was_sent() -> None:
    message = received_message()
    message.properties["TIMER_DELAY_MS"] = "1500"
    assert received_attributes(message, OPTIONS)[names.DELIVERY_TIMESTAMP] == TIME_MS + 1500
    del message.properties["TIMER_DELAY_MS"]
    message.properties["TIMER_DELAY_SEC"] = "2"
    assert received_attributes(message, OPTIONS)[names.DELIVERY_TIMESTAMP] == TIME_MS + 2000


def test_a_received_message() -> None:
    message = received_message()
    message.reconsume_times = 2
    assert received_attributes(message, TelemetryOptions(body_size=True)) == {
        names.MESSAGE_TYPE: "normal",
        names.MESSAGE_ID: "7F00000100",
        names.ATTEMPT: 3,
        names.TAG: "paid",
        names.KEYS: ("o-1",),
        names.BODY_SIZE: 4,
    }


PAIRS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_what_all_share_and_what_is_left_make_up_each(each: list) -> None:
    shared = shared_attributes(each)
    for own in each:
        assert shared.items() <= own.items()
        left = own_attributes(own, shared)
        assert {**shared, **left} == own
        assert not shared.keys() & left.keys()
    for name in "abcd":
        values = {own.get(name) for own in each}
        assert (name in shared) == (len(values) == 1 and values != {None})


def test_places() -> None:
    assert queue_attributes(MessageQueue("orders", "broker-a", 3)) == {names.PARTITION: "broker-a:3"}
    v4 = {names.SERVER_ADDRESS: "10.0.0.9", names.SERVER_PORT: 10911}
    assert server_attributes("10.0.0.9:10911") == v4
    assert server_attributes("[::1]:10911") == {names.SERVER_ADDRESS: "::1", names.SERVER_PORT: 10911}
    assert server_attributes("nonsense") == {}


def test_names_of_errors() -> None:
    assert error_type(ValueError("x")) == "ValueError"
    assert error_type(CallTimeout("3 s")) == "mqframe.core.errors.CallTimeout"
