"""Codec `avro`: records in Avro's binary form, each with the fingerprint of the schema it was written by."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_avro.codec import AvroCodec

__all__ = ["AvroCodec", "register_codecs"]


@hookimpl
def register_codecs() -> Factories:
    """The one codec."""
    return {"avro": AvroCodec}
