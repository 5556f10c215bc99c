"""Whether what is sent may be sent: sizes, names, times. Source: SendMessageActivity.java."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from mqframe.core.messages import properties as p
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.names import topic_name
from mqframe_grpc.rules.times import NANOS, moment_ms

OWN_NAMES: Final = p.RESERVED | {p.PRIORITY}
"""Properties that clients have other fields for, or that are not theirs."""
_TRANSACTION: Final = int(m.MessageType.TRANSACTION)
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


@attrs.frozen
class SendLimits:
    """How large, how many and how late what is sent may be. A message group is shorter than its limit."""

    body_bytes_max: int = 4 * 1024 * 1024
    properties_bytes_max: int = 16 * 1024
    properties_max: int = 128
    group_bytes_max: int = 64
    delay_max_ms: int = 24 * 3_600_000
    recovery_max_ms: int = 3_600_000


def check_sends(messages: Sequence[m.Message], limits: SendLimits, now_ms: int) -> str:
    """The topic that all of `messages` go to. Raises `Rejected` for the first thing that is wrong with them.

    Whether its topic takes a message is for `check_type` to say, what is in a packed body for `draft`.
    """
    if not messages:
        raise Rejected(m.Code.MESSAGE_CORRUPTED, "no message to send")
    first = messages[0].topic
    topic = topic_name(first)
    for number, message in enumerate(messages):
        if number and message.topic != first:
            raise Rejected(
                m.Code.MESSAGE_CORRUPTED,
                f"messages of one request go to one topic, these to {topic} and {_shown(message.topic.name)}",
            )
        check_body(len(message.body), limits)
        said = message.system_properties
        size = _check_user_properties(message.user_properties, limits)
        size += _check_tag_and_keys(said, limits)
        if size > limits.properties_bytes_max:
            raise _too_many_bytes(f"properties, tag and keys have {size} bytes", limits)
        _check_message_id(said.message_id)
        if said.message_type == _TRANSACTION:
            recovery_seconds(said, limits)
        _check_delivery(said, limits, now_ms)
        _check_group(said.message_group, limits)
        _check_trace(said, limits)
        if said.priority < 0:
            raise Rejected(m.Code.BAD_REQUEST, f"priority is {said.priority}; it may be 0 or more")
    return topic


# What a message says


def delivery_ms(said: m.SystemProperties) -> int | None:
    """When the message is to be delivered; `None` where it does not say. Raises `Rejected` for no time."""
    if not said.HasField("delivery_timestamp"):
        return None
    found = moment_ms(said.delivery_timestamp)
    if found is None:
        raise Rejected(
            m.Code.ILLEGAL_DELIVERY_TIME,
            f"the delivery timestamp of {said.delivery_timestamp.seconds} s and"
            f" {said.delivery_timestamp.nanos} ns is no time from 1970 to 9999",
        )
    return found


def recovery_seconds(said: m.SystemProperties, limits: SendLimits) -> int | None:
    """After how long an orphaned transaction is asked for; `None` where the message does not say.

    Raises `Rejected` BAD_REQUEST for one below 0 or above the limit.
    """
    if not said.HasField("orphaned_transaction_recovery_duration"):
        return None
    duration = said.orphaned_transaction_recovery_duration
    seconds, most = duration.seconds, limits.recovery_max_ms // 1000
    if not 0 <= seconds <= most or not 0 <= duration.nanos < NANOS:
        raise Rejected(
            m.Code.BAD_REQUEST,
            f"the orphaned transaction recovery duration is {seconds} s; it can be from 0 to {most} s",
        )
    return seconds


def has_control(text: str) -> bool:
    """Whether `text` holds a control character. Two of these separate properties where they are stored."""
    return not text.isprintable() and _CONTROL.search(text) is not None


# The checks, in their order


def check_body(size: int, limits: SendLimits) -> None:
    """Raise `Rejected` for a body of `size` bytes: MESSAGE_BODY_EMPTY, MESSAGE_BODY_TOO_LARGE."""
    if not size:
        raise Rejected(
            m.Code.MESSAGE_BODY_EMPTY, "the body of the message is empty; it takes a byte at least"
        )
    if size > limits.body_bytes_max:
        raise Rejected(
            m.Code.MESSAGE_BODY_TOO_LARGE,
            f"the body of the message has {size} bytes, at most {limits.body_bytes_max} are allowed",
        )


def _check_user_properties(named: Mapping[str, str], limits: SendLimits) -> int:
    """How many bytes their names and values have."""
    if len(named) > limits.properties_max:
        raise Rejected(
            m.Code.MESSAGE_PROPERTIES_TOO_LARGE,
            f"the message has {len(named)} properties, at most {limits.properties_max} are allowed",
        )
    size = 0
    if not named:
        return size
    for name, value in named.items():
        if name in OWN_NAMES:
            raise Rejected(
                m.Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
                f"property {name} belongs to the system; choose another name",
            )
        if has_control(name):
            raise Rejected(
                m.Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
                f"the name of property {_shown(name)} holds a control character",
            )
        if has_control(value):
            raise Rejected(
                m.Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
                f"the value {_shown(value)} of property {_shown(name)} holds a control character",
            )
        size += _bytes(name) + _bytes(value)
    return size


def _check_tag_and_keys(said: m.SystemProperties, limits: SendLimits) -> int:
    """How many bytes they have."""
    size = 0
    tag = said.tag
    if tag:
        _check_word("tag", tag, m.Code.ILLEGAL_MESSAGE_TAG)
        if "|" in tag:
            raise Rejected(
                m.Code.ILLEGAL_MESSAGE_TAG,
                f"tag {_shown(tag)} holds a |, which separates tags in subscriptions",
            )
        size = _bytes(tag)
    keys = said.keys
    if not keys:
        return size
    if len(keys) > limits.properties_bytes_max:  # they may be empty, which costs time all the same
        raise _too_many_bytes(f"the message has {len(keys)} keys", limits)
    for key in keys:
        if key:
            _check_word("key", key, m.Code.ILLEGAL_MESSAGE_KEY)
            size += _bytes(key)
    return size


def _check_message_id(message_id: str) -> None:
    if not message_id:
        raise Rejected(m.Code.ILLEGAL_MESSAGE_ID, "the message has no message id; its sender makes one")
    _check_word("message id", message_id, m.Code.ILLEGAL_MESSAGE_ID)


def _check_delivery(said: m.SystemProperties, limits: SendLimits, now_ms: int) -> None:
    delivery = delivery_ms(said)
    if delivery is not None and delivery - now_ms > limits.delay_max_ms:
        raise Rejected(
            m.Code.ILLEGAL_DELIVERY_TIME,
            f"delivery in {delivery - now_ms} ms is further away than {limits.delay_max_ms} ms; ask for an"
            " earlier time",
        )


def _check_group(group: str, limits: SendLimits) -> None:
    if group:
        size = _bytes(group)
        if size >= limits.group_bytes_max:
            raise Rejected(
                m.Code.ILLEGAL_MESSAGE_GROUP,
                f"message group {_shown(group)} has {size} bytes, fewer than {limits.group_bytes_max} are"
                " allowed",
            )
        _check_word("message group", group, m.Code.ILLEGAL_MESSAGE_GROUP)


def _check_trace(said: m.SystemProperties, limits: SendLimits) -> None:
    trace = said.trace_context
    if has_control(trace):
        raise Rejected(
            m.Code.ILLEGAL_MESSAGE_PROPERTY_KEY,
            f"the trace context {_shown(trace)} holds a control character",
        )
    size = _bytes(said.message_id) + _bytes(trace)
    if size > limits.properties_bytes_max:
        raise _too_many_bytes(f"message id and trace context have {size} bytes", limits)


def _check_word(what: str, word: str, code: m.Code) -> None:
    if not word.strip():
        raise Rejected(code, f"the {what} {_shown(word)} is blank")
    if has_control(word):
        raise Rejected(code, f"{what} {_shown(word)} holds a control character")


def _too_many_bytes(found: str, limits: SendLimits) -> Rejected:
    most = limits.properties_bytes_max
    return Rejected(m.Code.MESSAGE_PROPERTIES_TOO_LARGE, f"{found}, at most {most} are allowed")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}…"
