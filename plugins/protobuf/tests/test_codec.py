from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from mqframe_protobuf import ProtobufCodec
from mqframe_protobuf.codec import EMPTY
from mqframe_testing.conformance import CodecConformance

from mqframe.core.errors import DecodeError, EncodeError
from mqframe.hooks.interfaces import Codec
from mqframe.hooks.manager import PluginManager


def make_class() -> Any:
    """What protoc would make of: message Order { required int64 id = 1; optional string note = 2; }"""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto2")
    made = file.message_type.add(name="Order")
    kinds = descriptor_pb2.FieldDescriptorProto
    made.field.add(name="id", number=1, type=kinds.TYPE_INT64, label=kinds.LABEL_REQUIRED)
    made.field.add(name="note", number=2, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


Order = make_class()
Struct, Timestamp = struct_pb2.Struct, timestamp_pb2.Timestamp


class TestProtobuf(CodecConformance):
    cuts_show = False  # at the end of any field it may end

    def make(self) -> Codec:
        return ProtobufCodec()

    def values(self) -> Iterable[tuple[Any, Any]]:
        filled = Struct()
        filled.update({"a": [1, None, {"b": "ü"}]})
        return [
            (Order, Order(id=7, note="x")),
            (Order, Order(id=7, note="x" * (3 << 20))),
            (Struct, filled),
            (Timestamp, Timestamp(seconds=1)),
            (Timestamp, Timestamp()),
        ]

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        return [
            (Order, b"\x12\x0b" + self.secret.encode()),
            (Order, b"\x08"),
            (Timestamp, b"\xff" * 20),
        ]

    def strangers(self) -> Iterable[Any]:
        return [dict, Any, Order(id=1), list[Timestamp]]

    def unfit(self) -> Iterable[Any]:
        return [{"a": self.secret}, Order(note=self.secret)]


def test_the_full_name_is_the_schema() -> None:
    assert ProtobufCodec().schema(Order(id=1)) == "shop.Order"


def test_a_message_without_fields_has_a_body_that_every_receiver_reads() -> None:
    codec = PluginManager().create("codec", "protobuf")
    assert codec.encode(Timestamp()) == EMPTY
    assert codec.decode(EMPTY, Timestamp) == Timestamp()
    plain = Timestamp.FromString(EMPTY)  # as a receiver that knows nothing of it
    assert (plain.seconds, plain.nanos) == (0, 0)
    assert codec.decode(b"", Timestamp) == Timestamp()


def test_errors_name_the_message_type() -> None:
    with pytest.raises(DecodeError) as caught:
        ProtobufCodec().decode(b"\x08", Order)
    assert caught.value.problem == "no shop.Order, or cut off"
    with pytest.raises(EncodeError, match=r"shop\.Order cannot be encoded: .*id"):
        ProtobufCodec().encode(Order(note="x"))


@given(st.integers(-(2**63), 2**63 - 1), st.text())
def test_messages_survive(number: int, note: str) -> None:
    value = Order(id=number, note=note)
    assert ProtobufCodec().decode(ProtobufCodec().encode(value), Order) == value


@given(st.binary())
def test_anything_is_a_message_or_told(body: bytes) -> None:
    try:
        found = ProtobufCodec().decode(body, Struct)
    except DecodeError:
        return
    assert isinstance(found, Struct)
