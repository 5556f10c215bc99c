"""The binary form of Protocol Buffers."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import message

from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.hooks.interfaces import Codec

EMPTY: Final = b"\xf8\xff\xff\xff\x0f\x00"
"""Stands for a message without any field, whose form has no bytes, which brokers do not take: the field with
the highest number there is, which is 0. Receivers of all languages pass over fields that they do not know."""


class ProtobufCodec(Codec):
    """Objects of classes that protoc generates; their full name is the schema."""

    name = "protobuf"
    content_type = "application/protobuf"

    def encode(self, value: Any) -> bytes:
        """Its binary form. Raises `EncodeError` for what is no message, or lacks required fields."""
        if not isinstance(value, message.Message):
            raise EncodeError(f"a {type(value).__qualname__} is no message of Protocol Buffers")
        try:
            return value.SerializeToString() or EMPTY
        except (message.EncodeError, ValueError) as problem:
            raise EncodeError(f"a {value.DESCRIPTOR.full_name} cannot be encoded: {problem}") from None

    def decode(self, body: bytes, type: Any) -> Any:
        """A `type`, which is a generated class. Raises `DecodeError`."""
        name = type.DESCRIPTOR.full_name
        try:
            found = type.FromString(b"" if body == EMPTY else body)
        except message.DecodeError:
            raise DecodeError(f"no {name}, or cut off") from None
        if not found.IsInitialized():
            missing = ", ".join(found.FindInitializationErrors())
            raise DecodeError(f"a {name} without required fields: {missing}")
        return found

    def check(self, type: Any) -> None:
        """Raises `FixError` for what is no generated class."""
        if not _is_message_class(type):
            title = getattr(type, "__qualname__", type)
            raise FixError(f"{title} is no class of Protocol Buffers; hand in one that protoc generated")

    def schema(self, value: Any) -> str:
        """The full name of its message type."""
        return str(value.DESCRIPTOR.full_name)


def _is_message_class(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, message.Message) and kind is not message.Message
