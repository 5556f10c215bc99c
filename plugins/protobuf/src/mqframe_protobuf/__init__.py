"""Codec `protobuf`: messages of Protocol Buffers."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_protobuf.codec import ProtobufCodec

__all__ = ["ProtobufCodec", "register_codecs"]


@hookimpl
def register_codecs() -> Factories:
    """The one codec."""
    return {"protobuf": ProtobufCodec}
