import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.errors import BodyError, MessageError
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import decode_properties
from mqframe.core.sending.encoding import (
    BATCH_PROPERTIES,
    decode_elements,
    element_size,
    encode_elements,
    message_properties,
)

words = st.text("abcüß漢", min_size=1, max_size=8)
messages = st.builds(
    Message,
    topic=st.just("t"),
    body=st.binary(min_size=1, max_size=40),
    tag=st.none() | words,
    keys=st.lists(words, max_size=3),
    properties=st.dictionaries(words, words, max_size=3),
    flag=st.integers(-(2**31), 2**31 - 1),
)


def expected(message, unique_id):
    found = {"UNIQ_KEY": unique_id, **message.properties}
    if message.tag:
        found["TAGS"] = message.tag
    if message.keys:
        found["KEYS"] = " ".join(message.keys)
    return found


@given(messages)
def test_properties_of_a_message_alone(message):
    found = decode_properties(message_properties(message, "ID"))
    assert found == {**expected(message, "ID"), "WAIT": "true"}


@given(st.lists(messages, max_size=4))
def test_elements_are_decoded_as_they_were(given_messages):
    ids = [f"ID{number}" for number in range(len(given_messages))]
    found, found_ids = decode_elements("t", encode_elements(given_messages, ids))
    assert found_ids == ids
    for message, other in zip(given_messages, found, strict=True):
        assert (other.topic, other.body, other.tag, list(other.keys), other.flag) == (
            "t",
            message.body,
            message.tag,
            list(message.keys),
            message.flag,
        )
        assert other.properties == message.properties


def test_elements_that_are_none():
    elements = encode_elements([Message("t", b"body")], ["ID"])
    assert decode_elements("t", b"") == ([], [])
    with pytest.raises(BodyError, match="message 0"):
        decode_elements("t", elements[:-1])


def test_wait_is_said():
    assert "WAIT\x01false\x02" in message_properties(Message("t", b"x", wait_store_ok=False), "ID")


@given(st.lists(messages, min_size=1, max_size=8))
def test_elements_of_a_batch_keep_each_its_own_key(batch):
    ids = [f"ID{number}" for number in range(len(batch))]
    encoded = encode_elements(batch, ids)
    found = list(decode_batch(encoded))
    assert [(flag, bytes(body)) for flag, body, _ in found] == [(m.flag, m.body) for m in batch]
    for (_, _, text), message, unique_id in zip(found, batch, ids, strict=True):
        assert decode_properties(str(text, "utf-8")) == expected(message, unique_id)
    assert len(encoded) <= sum(map(element_size, batch))


def test_the_batch_itself_has_no_unique_key():
    assert BATCH_PROPERTIES == {True: "WAIT\x01true\x02", False: "WAIT\x01false\x02"}


def test_too_long_properties_are_refused():
    message = Message("t", b"x", properties={"a": "x" * 32760})
    for check in (lambda: element_size(message), lambda: message_properties(message, "ID")):
        with pytest.raises(MessageError, match="32767 are allowed"):
            check()
