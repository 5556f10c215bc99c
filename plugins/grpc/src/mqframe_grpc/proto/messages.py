"""The messages of RocketMQ's gRPC protocol, made of `messages.binpb`; `messages.pyi` has their types.

They live in a descriptor pool of their own: an official client in the same process, which brings the same
messages along, has those in the common one, where a second definition would be refused.
"""

from __future__ import annotations

from enum import IntEnum
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

METHODS: dict[str, tuple[Any, Any]] = {}
"""Classes of what is asked and answered, by the path of a method."""


def _load() -> None:
    pool = descriptor_pool.DescriptorPool()
    found = descriptor_pb2.FileDescriptorSet.FromString(
        files("mqframe_grpc.proto").joinpath("messages.binpb").read_bytes()
    )
    for file in found.file:
        pool.AddSerializedFile(file.SerializeToString())
    for file in found.file:
        prefix = f"{file.package}." if file.package else ""
        for each in file.enum_type:
            globals()[each.name] = IntEnum(each.name, {value.name: value.number for value in each.value})
        for message in file.message_type:
            descriptor = pool.FindMessageTypeByName(prefix + message.name)
            globals()[message.name] = message_factory.GetMessageClass(descriptor)
        for service in file.service:
            for method in service.method:
                asked, answered = (
                    name.rpartition(".")[2] for name in (method.input_type, method.output_type)
                )
                path = f"/{prefix}{service.name}/{method.name}"
                METHODS[path] = globals()[asked], globals()[answered]


_load()
