"""The messages of RocketMQ's gRPC protocol, made of `messages.binpb`; `messages.pyi` has their types.

They live in a descriptor pool of their own: an official client in the same process, which brings the same
messages along, has those in the common one, where a second definition would be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pool, message_factory

METHODS: dict[str, tuple[Any, Any]] = {}
"""Classes of what is asked and answered, by the path of a method."""


def _load() -> None:
    pool = descriptor_pool.DescriptorPool()
    for raw in _parts(files("mqframe_grpc.proto").joinpath("messages.binpb").read_bytes()):
        file = pool.AddSerializedFile(raw)
        for enum in file.enum_types_by_name.values():
            globals()[enum.name] = IntEnum(enum.name, {each.name: each.number for each in enum.values})
        for message in file.message_types_by_name.values():
            globals()[message.name] = message_factory.GetMessageClass(message)
        for service in file.services_by_name.values():
            for method in service.methods:
                asked, answered = (globals()[each.name] for each in (method.input_type, method.output_type))
                METHODS[f"/{service.full_name}/{method.name}"] = asked, answered


def _parts(raw: bytes) -> Iterator[bytes]:
    """The files of a `FileDescriptorSet`, in order, without the classes for it, which take long to load."""
    at = 0
    while at < len(raw):
        size = shift = 0
        while True:
            at += 1  # behind the one field that there is, and behind each byte of its length
            size |= (raw[at] & 0x7F) << shift
            shift += 7
            if raw[at] < 0x80:
                break
        at += 1
        yield raw[at : at + size]
        at += size


_load()
