"""Validation of messages before they are sent (Validators.java, wire.md §6 and §8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from mqframe.core.errors import MessageError
from mqframe.core.messages.compression import UNPACKED_BYTES_MAX
from mqframe.core.messages.message import Message
from mqframe.core.messages.names import DLQ_PREFIX, RETRY_PREFIX, check_topic, is_closed_topic
from mqframe.core.messages.properties import BUYER_ID, KEYS, PROPERTIES_BYTES_MAX, RESERVED, find_property

INT_MAX = 2**31 - 1


def plain_bytes_max(body_bytes_max: int, compress_over_bytes: int) -> int:
    """How long a body may be before it is packed, so that it may have `body_bytes_max` bytes afterwards.

    What is packed from `compress_over_bytes` on may have as many as consumers unpack.
    """
    if compress_over_bytes > body_bytes_max:
        return body_bytes_max
    return max(body_bytes_max, UNPACKED_BYTES_MAX)


def check_message(message: Message, body_bytes_max: int) -> None:
    """Raise `MessageError` saying what is wrong with `message` and what to do."""
    try:
        check_sendable_topic(message.topic)
    except TypeError:  # not even a key of the cache
        raise MessageError(f"topic is {type(message.topic).__name__}, not text") from None
    body = message.body
    if body.__class__ is not bytes and not isinstance(body, bytes):
        raise MessageError(_unfit_body(message))
    if not body:
        raise MessageError(f"body of a message to {message.topic} is empty; it takes a byte at least")
    if len(body) > body_bytes_max:
        raise too_long(message, body_bytes_max)
    if message.tag is not None:
        _check_text("tag", message.tag)
        if "||" in message.tag:
            raise MessageError(
                f"tag {message.tag!r} holds ||, which joins tags in subscriptions; a message has one tag, and"
                " properties for the rest"
            )
    if message.keys:
        _check_keys(message.keys)
    if message.properties:
        _check_properties(message)
    if message.flag and (not isinstance(message.flag, int) or not -INT_MAX - 1 <= message.flag <= INT_MAX):
        raise MessageError(f"flag {message.flag!r} is no number of 32 bits")


def too_long(message: Message, body_bytes_max: int, packed_bytes: int | None = None) -> MessageError:
    """The error of `message`, whose body is too long; of `packed_bytes` when packed, if that was tried."""
    size = f"{len(message.body)} bytes" + ("" if packed_bytes is None else f", {packed_bytes} when packed")
    return MessageError(
        f"body of a message to {message.topic} has {size}, {body_bytes_max} are allowed "
        "(producer.body_bytes_max; the broker has a limit of its own)"
    )


def check_batch(messages: Sequence[Message], body_bytes_max: int) -> None:
    """Raise `MessageError` unless `messages` can travel in one request (MessageBatch.generateFromList)."""
    if not messages:
        raise MessageError("a batch needs at least one message")
    first = messages[0]
    for message in messages:
        check_message(message, body_bytes_max)
        if message.topic != first.topic:
            raise MessageError(f"a batch goes to one topic, this one names {first.topic} and {message.topic}")
        if message.wait_store_ok != first.wait_store_ok:
            raise MessageError("messages of a batch must agree on wait_store_ok")
    if first.topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        raise MessageError(f"messages to {first.topic} cannot go in a batch")


@lru_cache(maxsize=16384)
def check_sendable_topic(topic: str) -> None:
    """Raise `MessageError` unless producers may send to `topic`."""
    if not isinstance(topic, str):
        raise MessageError(f"topic is {type(topic).__name__}, not text")
    check_topic(topic)
    if is_closed_topic(topic):
        raise MessageError(f"topic {topic} is the broker's own; producers may not send to it")


def check_property(name: str, value: str) -> None:
    """Raise `MessageError` unless applications may give a message the property `name` with `value`."""
    _check_text("property name", name)
    _check_text(f"value of property {name}", value)
    if not name or not value:
        raise MessageError(f"property {name!r} = {value!r}: neither name nor value may be empty")
    if name in RESERVED and name != BUYER_ID:
        raise MessageError(f"property {name} belongs to the system; choose another name")


def check_properties_size(text: str, topic: str, more_bytes: int = 0) -> None:
    """Raise `MessageError` when properties in their text form, and `more_bytes`, do not fit a record."""
    if len(text) * 4 + more_bytes > PROPERTIES_BYTES_MAX:
        size = len(text.encode()) + more_bytes
        if size > PROPERTIES_BYTES_MAX:
            raise MessageError(
                f"properties of a message to {topic} have {size} bytes, {PROPERTIES_BYTES_MAX} are allowed"
            )


def check_key_count(text: str, keys_max: int) -> None:
    """Raise `MessageError` for properties `text` with more than `keys_max` keys."""
    keys = find_property(text, KEYS)
    if keys is not None and len(keys) >= 2 * keys_max:
        count = sum(1 for word in keys.split(" ") if word)
        if count > keys_max:
            raise MessageError(
                f"the message has {count} keys, at most {keys_max} are indexed (store.message_keys_max)"
            )


def _unfit_body(message: Message) -> str:
    body: object = message.body
    if body is None:
        how = "a message without content takes a byte at least, for example b'\\0'"
    elif isinstance(body, str):
        how = "write body.encode()"
    elif isinstance(body, bytearray | memoryview):
        how = "write bytes(body)"
    else:
        how = "encode it, for example by json.dumps(body).encode()"
    said = "None" if body is None else type(body).__name__
    return f"body of a message to {message.topic} is {said}, not bytes; {how}"


def _check_text(what: str, text: str) -> None:
    if not isinstance(text, str):
        raise MessageError(f"{what} is {type(text).__name__}, not text")
    if "\x01" in text or "\x02" in text:
        raise MessageError(f"{what} {text!r} holds a character 1 or 2, which separate properties on the wire")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            raise MessageError(f"{what} {text!r} cannot be encoded: {problem}") from None


def _check_keys(keys: Sequence[str]) -> None:
    if isinstance(keys, str):
        raise MessageError(f"keys is the one text {keys!r}; pass a list of keys")
    if not isinstance(keys, Iterable):
        raise MessageError(f"keys is {type(keys).__name__}; pass a list of keys")
    for key in keys:
        _check_text("key", key)
        if not key or " " in key:
            raise MessageError(f"key {key!r} is empty or holds a space, which separates keys")


def _check_properties(message: Message) -> None:
    if not isinstance(message.properties, Mapping):
        raise MessageError(f"properties is {type(message.properties).__name__}; pass a dict of texts")
    for name, value in message.properties.items():
        check_property(name, value)
