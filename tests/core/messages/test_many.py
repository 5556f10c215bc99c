"""What is asked of many received messages at once."""

from __future__ import annotations

import pytest

from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.compression import UNPACKED_BYTES_MAX, Compression, compress
from mqframe.core.messages.many import ManyMessages, guard_bodies, many_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

HOST = bytes(8)
PACKED, FLAGS = compress(b"x" * 100, Compression.ZLIB)


def messages(*texts: bytes) -> list[ReceivedMessage]:
    """One for each text of properties, from queue offset 7 on, 200 bytes of log and one more for each."""
    return [
        ReceivedMessage("orders", 2, 7 + n, 0, 200 + n, 0, 0, HOST, HOST, 0, FLAGS, 0, 0, 0, PACKED, text)
        for n, text in enumerate(texts)
    ]


def test_what_is_asked_of_many() -> None:
    several = messages(b"TAGS\x01a\x02", b"KEYS\x01k\x02", b"")
    many = many_of(several)
    assert type(many) is ManyMessages
    assert many.offsets(several) == [7, 8, 9]
    assert many.store_bytes(several) == 603
    found = [many.may_have(several, name) for name in (b"KEYS", b"k\x02", b"GS\x01a", b"\x02KEYS")]
    assert found == [True, True, True, False], "in the text of one"
    assert not many.rise_in(several, MessageQueue("orders", "broker-a", 2), 7), "each is looked at"


def test_of_none_there_is_nothing() -> None:
    none = many_of([])
    assert (none.offsets([]), none.store_bytes([]), none.may_have([], b"")) == ([], 0, False)


def test_all_bodies_are_guarded() -> None:
    several = messages(b"", b"")
    guard_bodies(several, UNPACKED_BYTES_MAX, False)
    assert [message.body for message in several] == [b"x" * 100] * 2
    several = messages(b"", b"")
    guard_bodies(several, 99, True)
    assert [(message.unpacked_bytes_max, message.checks_crc) for message in several] == [(99, True)] * 2
    for message in several:
        with pytest.raises(BodyUnreadable):
            message.body  # noqa: B018
