"""What of a message goes into the request besides its body: the properties, and the elements of a batch."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES, decode_batch
from mqframe.core.messages.checks import check_properties_size
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.sending.request_reply import ReplyMessage

BATCH_PROPERTIES: Final = {True: "WAIT\x01true\x02", False: "WAIT\x01false\x02"}
"""Properties of a whole batch, by `wait_store_ok`.

No UNIQ_KEY among them: a broker appends these to each message's, whose own unique key would be hidden.
"""

_HEAD: Final = struct.Struct(">iiiii")
_SHORT: Final = struct.Struct(">h")
_PROPERTIES_ABOUT_BYTES: Final = 80


def message_properties(message: Message, unique_id: str) -> str:
    """The properties of a message that travels alone. Raises `MessageError` when they are too long."""
    wait = "true" if message.wait_store_ok else "false"
    text = f"UNIQ_KEY\x01{unique_id}\x02WAIT\x01{wait}\x02"
    if message.tag is not None or message.keys or message.properties:
        text += _own_properties(message)
        check_properties_size(text, message.topic)
    if message.__class__ is ReplyMessage:
        text += message.system_properties()
    return text


def _own_properties(message: Message) -> str:
    text = f"TAGS\x01{message.tag}\x02" if message.tag else ""
    if message.keys:
        text = f"{text}KEYS\x01{' '.join(message.keys)}\x02"
    if message.properties:
        text += encode_properties(message.properties)
    return text


def element_size(message: Message) -> int:
    """About how many bytes `message` takes in a batch, never much less than it does.

    Raises `MessageError` when its properties are too long, and for a reply, which travels alone.
    """
    if message.__class__ is ReplyMessage:
        raise MessageError("a reply cannot be packed with other messages; use send or send_oneway")
    size = len(message.body) + ELEMENT_OVERHEAD_BYTES + _PROPERTIES_ABOUT_BYTES
    if message.keys or message.properties:
        text = _own_properties(message)
        check_properties_size(text, message.topic, _PROPERTIES_ABOUT_BYTES)
        size += 4 * len(text)
    return size


def encode_elements(messages: Sequence[Message], unique_ids: Sequence[str]) -> bytes:
    """The body of a batch request. Raises `MessageError` when properties of a message are too long."""
    parts: list[bytes] = []
    head, short = _HEAD.pack, _SHORT.pack
    overhead = ELEMENT_OVERHEAD_BYTES
    for message, unique_id in zip(messages, unique_ids, strict=True):
        if message.__class__ is ReplyMessage:
            raise MessageError("a reply cannot be packed with other messages; use send or send_oneway")
        text = f"UNIQ_KEY\x01{unique_id}\x02"
        if message.tag is not None or message.keys or message.properties:
            text += _own_properties(message)
            check_properties_size(text, message.topic)
        raw = text.encode()
        body = message.body
        parts += (
            head(overhead + len(body) + len(raw), 0, 0, message.flag, len(body)), body, short(len(raw)), raw
        )  # fmt: skip
    return b"".join(parts)


def decode_elements(topic: str, elements: bytes) -> tuple[list[Message], list[str]]:
    """The messages to `topic` in the body of a batch request, and their unique keys ("" for none).

    Raises `BodyError` for what is no such body.
    """
    messages, unique_ids = [], []
    for flag, body, text in decode_batch(elements):
        pairs = decode_properties(str(text, "utf-8", "replace"))
        unique_ids.append(pairs.pop(p.UNIQUE_KEY, ""))
        tag, keys = pairs.pop(p.TAGS, None), pairs.pop(p.KEYS, "").split()
        messages.append(Message(topic, bytes(body), tag, keys, pairs, flag))
    return messages, unique_ids
