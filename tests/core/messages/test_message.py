"""Messages as applications see them."""

from __future__ import annotations

import importlib
import zlib
from typing import Any

import msgspec
import pytest

from mqframe.core.codes import SysFlag
from mqframe.core.errors import BodyUnreadable, GiveUpError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.compression import UNPACKED_BYTES_MAX, Compression, compress
from mqframe.core.messages.many import guard_bodies
from mqframe.core.messages.message import (
    Message,
    MessageQueue,
    ReceivedMessage,
    unreadable,
)
from mqframe.core.storage.record import body_crc


def received(**fields: Any) -> ReceivedMessage:
    values: dict[str, Any] = {
        "topic": "orders",
        "queue_id": 2,
        "queue_offset": 7,
        "commit_log_offset": 4096,
        "store_size": 200,
        "born_timestamp": 1,
        "store_timestamp": 2,
        "born_host": encode_host("10.0.0.9:5"),
        "store_host": encode_host("10.0.0.1:10911"),
        "reconsume_times": 0,
        "sys_flag": 0,
        "flag": 0,
        "body_crc": 0,
        "prepared_transaction_offset": 0,
        "stored_body": b"body",
        "raw_properties": b"",
        "broker_name": "broker-a",
    }
    return ReceivedMessage(**{**values, **fields})


def test_a_message_to_send_is_not_changed_but_copied() -> None:
    message = Message("orders", b"paid", tag="x")
    with pytest.raises(AttributeError):
        message.topic = "other"  # type: ignore[misc]
    assert msgspec.structs.replace(message, tag="y") == Message("orders", b"paid", tag="y")


def test_queues_sort_by_topic_broker_and_number() -> None:
    queues = [MessageQueue("b", "a", 0), MessageQueue("a", "b", 1), MessageQueue("a", "b", 0)]
    assert sorted(queues) == [queues[2], queues[1], queues[0]]


def test_places_and_addresses() -> None:
    message = received()
    assert message.queue == MessageQueue("orders", "broker-a", 2)
    assert (message.born_host, message.store_host) == ("10.0.0.9:5", "10.0.0.1:10911")
    assert message.offset_message_id == "0A00000100002A9F0000000000001000"
    assert repr(message) == ("<ReceivedMessage orders/2@7 id=0A00000100002A9F0000000000001000 200 bytes>")


def test_ids_are_those_of_the_properties_and_else_of_the_broker() -> None:
    plain = received()
    own = plain.offset_message_id
    assert (plain.message_id, plain.origin_message_id, plain.transaction_id) == (own, own, own)
    named = received(
        raw_properties=b"UNIQ_KEY\x01U1\x02ORIGIN_MESSAGE_ID\x01O1\x02__transactionId__\x01T1\x02"
    )
    assert (named.message_id, named.origin_message_id, named.transaction_id) == ("U1", "O1", "T1")
    assert named.offset_message_id == own
    assert received(raw_properties=b"UNIQ_KEY\x01U1\x02").transaction_id == "U1"


def test_tag_keys_and_properties() -> None:
    message = received(raw_properties=b"TAGS\x01x\x02KEYS\x01k1 k2\x02own\x01\xc3\xa9\x02")
    assert (message.tag, message.keys) == ("x", ["k1", "k2"])
    assert message.properties == {"TAGS": "x", "KEYS": "k1 k2", "own": "é"}
    assert message.raw_properties == "TAGS\x01x\x02KEYS\x01k1 k2\x02own\x01é\x02"
    assert (received().tag, received().keys) == (None, [])


def test_bodies_are_unpacked_once_when_somebody_looks() -> None:
    packed, flags = compress(b"body" * 50, Compression.ZLIB)
    message = received(stored_body=packed, sys_flag=flags)
    assert (message.stored_body, message.sys_flag & SysFlag.COMPRESSED) == (packed, SysFlag.COMPRESSED)
    assert message.body == b"body" * 50
    assert (message.stored_body, message.sys_flag & SysFlag.COMPRESSED) == (b"body" * 50, 0)
    assert message.body == b"body" * 50
    with pytest.raises(GiveUpError, match="is damaged"):
        assert received(stored_body=b"?", sys_flag=flags).body


def packed_message(body: bytes, sys_flag: int = SysFlag.COMPRESSED) -> ReceivedMessage:
    host = bytes(8)
    return ReceivedMessage("t", 0, 0, 0, 0, 0, 0, host, host, 0, sys_flag, 0, 0, 0, body, b"")


def test_each_message_has_its_own_limit() -> None:
    message, other = packed_message(zlib.compress(b"x" * 100)), packed_message(zlib.compress(b"x" * 100))
    guard_bodies([message], 99, False)
    with pytest.raises(BodyUnreadable, match="more than 99 bytes"):
        message.body  # noqa: B018
    assert len(message.stored_body) < 99
    assert other.body == b"x" * 100
    guard_bodies([message], 100, False)
    assert message.body == b"x" * 100


@pytest.mark.parametrize("packs", [False, True])
def test_a_body_that_is_not_what_was_stored_is_not_given_out(packs: bool) -> None:
    stored = zlib.compress(b"x" * 100) if packs else b"x" * 100
    flags = SysFlag.COMPRESSED if packs else 0
    good = received(stored_body=stored, sys_flag=flags, body_crc=body_crc(stored))
    bad = received(stored_body=stored, sys_flag=flags, body_crc=body_crc(stored) ^ 1)
    guard_bodies([good, bad], UNPACKED_BYTES_MAX, True)
    for _ in range(2):
        assert good.body == b"x" * 100
        with pytest.raises(BodyUnreadable, match=r"changed since it was stored.*client\.check_body_crc"):
            bad.body  # noqa: B018
    assert list(unreadable([good, bad])) == [bad]
    assert bad.stored_body == stored, "it can be looked at all the same"
    unchecked = received(stored_body=stored, sys_flag=flags, body_crc=body_crc(stored) ^ 1)
    guard_bodies([unchecked], UNPACKED_BYTES_MAX, False)
    assert unchecked.body == b"x" * 100


def test_those_that_cannot_be_unpacked_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    good, plain = packed_message(zlib.compress(b"x")), packed_message(b"x", 0)
    bad, odd = packed_message(b"x"), packed_message(b"x", SysFlag.COMPRESSED | 0x400)
    found = unreadable([good, bad, plain, odd])
    assert list(found) == [bad, odd]
    assert "damaged" in found[bad]
    assert "not known" in found[odd]

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    elsewhere = packed_message(b"x", SysFlag.COMPRESSED | SysFlag.COMPRESSION_LZ4)
    assert unreadable([elsewhere]) == {}, "another member may have the package"
