import pytest

from mqframe.core.errors import MessageError
from mqframe.core.messages.checks import (
    check_batch,
    check_key_count,
    check_message,
    check_properties_size,
    plain_bytes_max,
)
from mqframe.core.messages.message import Message

MAX = 100


@pytest.mark.parametrize(
    "message",
    [
        Message("t", b"x"),
        Message("t" * 127, b"x" * MAX, tag="a | b", keys=("k1", "k2"), properties={"a": "ü"}, flag=-(2**31)),
        Message("%RETRY%" + "t" * 200, b"x"),
    ],
)
def test_good_messages(message):
    check_message(message, MAX)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (Message("", b"x"), "topic name is empty"),
        (Message("t" * 128, b"x"), "127 are allowed"),
        (Message("a b", b"x"), "may hold only"),
        (Message(None, b"x"), "not text"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "broker's own"),
        (Message("t", b""), "empty"),
        (Message("t", "text"), "not bytes"),
        (Message("t", b"x" * (MAX + 1)), "101 bytes, 100 are allowed"),
        (Message("t", b"x", tag="a\x01"), "tag"),
        (Message("t", b"x", keys="key"), "pass a list"),
        (Message("t", b"x", keys=["a b"]), "space"),
        (Message("t", b"x", keys=[""]), "empty"),
        (Message("t", b"x", keys=[3]), "not text"),
        (Message("t", b"x", properties={"TAGS": "a"}), "belongs to the system"),
        (Message("t", b"x", properties={"a": ""}), "empty"),
        (Message("t", b"x", properties={"a": "b\x02c"}), "value of property a"),
        (Message("t", b"x", properties={"a": 1}), "not text"),
        (Message("t", b"x", properties={"a": "\ud800"}), r"value of property a '\\ud800' cannot be encoded"),
        (Message("t", b"x", keys=["\ud800"]), "key '.*' cannot be encoded"),
        (Message("t", b"x", flag=2**31), "32 bits"),
    ],
)
def test_bad_messages_say_what_is_wrong(message, says):
    with pytest.raises(MessageError, match=says):
        check_message(message, MAX)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "at least one"),
        ([Message("a", b"x"), Message("b", b"x")], "one topic"),
        ([Message("a", b"x"), Message("a", b"x", wait_store_ok=False)], "wait_store_ok"),
        ([Message("%RETRY%g", b"x")], "cannot go in a batch"),
        ([Message("a", b"x"), Message("a", b"")], "empty"),
    ],
)
def test_bad_batches(messages, says):
    with pytest.raises(MessageError, match=says):
        check_batch(messages, MAX)


def test_the_buyer_of_a_unit_is_a_property_that_applications_set():
    check_message(Message("t", b"x", properties={"BUYER_ID": "17"}), MAX)


def test_a_body_may_be_longer_than_the_limit_where_it_will_be_packed():
    assert plain_bytes_max(1000, 1001) == 1000
    assert plain_bytes_max(1000, 1000) == 64 * 1024 * 1024
    assert plain_bytes_max(100 * 1024 * 1024, 1000) == 100 * 1024 * 1024


def test_properties_are_counted_in_bytes():
    check_properties_size("x" * 32767, "t")
    with pytest.raises(MessageError, match="32768 bytes"):
        check_properties_size("x" * 32768, "t")
    with pytest.raises(MessageError, match="40000 bytes"):
        check_properties_size("ü" * 20000, "t")


def test_keys_of_one_message_are_counted():
    check_key_count("KEYS\x01" + " ".join(["k"] * 10) + "\x02", 10)
    check_key_count("KEYS\x01" + "  ".join(["k"] * 10) + "\x02", 10)
    check_key_count("x\x01" + " ".join(["k"] * 50) + "\x02", 10)
    with pytest.raises(MessageError, match=r"has 11 keys, at most 10 are indexed \(store.message_keys_max\)"):
        check_key_count("a\x01b\x02KEYS\x01" + " ".join(["k"] * 11) + "\x02", 10)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (Message(["t"], b"x"), "topic is list"),
        (Message({}, b"x"), "topic is dict"),
        (Message("t\udc80", b"x"), "may hold only"),
        (Message("t", b"x", tag="\udc80"), "cannot be encoded"),
        (Message("t", b"x", keys=["k", "\udc80"]), "cannot be encoded"),
        (Message("t", b"x", keys=5), "keys is int"),
        (Message("t", b"x", properties={"\ud800": "v"}), "cannot be encoded"),
        (Message("t", b"x", properties={"n": "\udfff"}), "cannot be encoded"),
        (Message("t", b"x", properties=["n"]), "properties is list"),
        (Message("t", b"x", flag="1"), "flag '1'"),
        (Message("t", b"x", flag=1.5), "flag 1.5"),
        (Message("t", "text"), r"is str, not bytes; write body\.encode\(\)"),
        (Message("t", bytearray(b"x")), r"is bytearray, not bytes; write bytes\(body\)"),
        (Message("t", {"a": 1}), r"is dict, not bytes; encode it, for example by json\.dumps"),
        (Message("t", b"x", tag="a||b"), r"tag 'a\|\|b' holds \|\|, which joins tags in subscriptions"),
        (Message("t", None), "is None, not bytes; a message without content takes a byte at least"),
    ],
)
def test_what_cannot_be_encoded_is_refused_before_it_is_sent(message, says):
    with pytest.raises(MessageError, match=says):
        check_message(message, MAX)
    with pytest.raises(MessageError, match=says):
        check_batch([message, Message("t", b"y")], MAX)
