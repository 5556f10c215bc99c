"""Message types of Protocol Buffers, made without protoc."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KINDS = descriptor_pb2.FieldDescriptorProto


def files(
    fields: Mapping[str, tuple[int, str]],
    *,
    name: str = "Order",
    enum: Mapping[str, int] | None = None,
    choice: str = "",
) -> descriptor_pb2.FileDescriptorSet:
    """A descriptor set of one message type in package `shop`.

    `fields`: (number, type) by name; a type is "int32", "repeated string", "required int64", "Inner" (a
    message with the field 1 `id` of type int64), "Colour" (the enum of these numbers) or its own name.
    `choice`: names of those in a `oneof`.
    """
    found = descriptor_pb2.FileDescriptorSet()
    file = found.file.add(name="shop.proto", package="shop", syntax="proto2")
    inner = file.message_type.add(name="Inner")
    inner.field.add(name="id", number=1, type=KINDS.TYPE_INT64, label=KINDS.LABEL_OPTIONAL)
    colour = file.enum_type.add(name="Colour")
    for word, number in (enum or {"RED": 0, "GREEN": 1}).items():
        colour.value.add(name=word, number=number)
    made = file.message_type.add(name=name)
    if choice:
        made.oneof_decl.add(name="choice")
    for field, (number, words) in fields.items():
        label, _, kind = f"optional {words}".rpartition(" ")
        added = made.field.add(
            name=field, number=number, label=KINDS.Label.Value(f"LABEL_{label.split()[-1].upper()}")
        )
        if kind in ("Inner", name):
            added.type, added.type_name = KINDS.TYPE_MESSAGE, f".shop.{kind}"
        elif kind == "Colour":
            added.type, added.type_name = KINDS.TYPE_ENUM, ".shop.Colour"
        else:
            added.type = KINDS.Type.Value(f"TYPE_{kind.upper()}")
        if field in choice.split():
            added.oneof_index = 0
    return found


def message_class(found: descriptor_pb2.FileDescriptorSet, name: str = "shop.Order") -> Any:
    """The class of the message type `name`."""
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
