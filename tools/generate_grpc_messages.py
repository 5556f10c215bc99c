"""Writes the descriptors and the type stub of gRPC's messages, from RocketMQ's interface files.

    python tools/generate_grpc_messages.py PATH

PATH is a checkout of github.com/apache/rocketmq-apis. `plugins/grpc/src/mqframe_grpc/proto` then has
`messages.binpb`, the compiled descriptors, and `messages.pyi`, the types of what `messages.py` makes of
them. The compiler is that of grpcio-tools, which `uv` fetches.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2

HOME: Final = Path(__file__).parents[1] / "plugins/grpc/src/mqframe_grpc/proto"
FILES: Final = ("apache/rocketmq/v2/definition.proto", "apache/rocketmq/v2/service.proto")
HEAD: Final = '''"""The messages of RocketMQ's gRPC protocol. Written by tools/generate_grpc_messages.py."""

from abc import ABCMeta
from collections.abc import Iterable, MutableMapping, MutableSequence
from enum import IntEnum
from typing import Self, TypeVar

M = TypeVar("M", bound="ProtoMessage")

class ProtoMessage:
    @classmethod
    def FromString(cls, data: bytes) -> Self: ...
    def SerializeToString(self) -> bytes: ...
    def ByteSize(self) -> int: ...
    def CopyFrom(self, other: Self) -> None: ...
    def HasField(self, name: str) -> bool: ...
    def ClearField(self, name: str) -> None: ...
    def WhichOneof(self, name: str) -> str | None: ...

class Repeated(MutableSequence[M], metaclass=ABCMeta):
    def add(self) -> M: ...

METHODS: dict[str, tuple[type[ProtoMessage], type[ProtoMessage]]]
'''
SCALARS: Final = {1: "float", 2: "float", 8: "bool", 9: "str", 12: "bytes"}


def compiled(apis: Path) -> descriptor_pb2.FileDescriptorSet:
    """The descriptors of `FILES` and of all that they import."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "all.binpb")
        command = [
            "uv",
            "tool",
            "run",
            "--from",
            "grpcio-tools",
            "python",
            "-m",
            "grpc_tools.protoc",
            f"-I{apis}",
        ]
        subprocess.run(
            [*command, "--include_imports", f"--descriptor_set_out={out}", *FILES], check=True, cwd=apis
        )
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def type_of(field: Any) -> str:
    """The type of one value of `field`."""
    if field.type == field.TYPE_MESSAGE:
        return str(field.type_name.rpartition(".")[2])
    return SCALARS.get(field.type, "int")


def members(message: Any) -> Iterator[tuple[str, str, str]]:
    """Name, type when read, and type when given, of each field."""
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    for field in message.field:
        kind = type_of(field)
        if field.label == field.LABEL_REPEATED:
            if kind in entries:
                key, value = map(type_of, entries[kind].field)
                yield field.name, f"MutableMapping[{key}, {value}]", f"MutableMapping[{key}, {value}]"
            elif field.type == field.TYPE_MESSAGE:
                yield field.name, f"Repeated[{kind}]", f"Iterable[{kind}]"
            else:
                yield field.name, f"MutableSequence[{kind}]", f"Iterable[{kind}]"
        else:
            yield field.name, kind, kind


def class_lines(message: Any) -> Iterator[str]:
    """The class of `message` in the stub."""
    yield f"\nclass {message.name}(ProtoMessage):"
    given = list(members(message))
    for name, read, _ in given:
        yield f"    {name}: {read}"
    if given:
        yield "    def __init__("
        yield "        self,"
        yield "        *,"
        for name, _, taken in given:
            yield f"        {name}: {taken} | None = ...,"
        yield "    ) -> None: ..."
    else:
        yield "    def __init__(self) -> None: ..."


def stub(files: Iterable[Any]) -> str:
    """The text of `messages.pyi`."""
    lines = [HEAD.rstrip("\n")]
    for file in files:
        for each in file.enum_type:
            lines.append(f"\nclass {each.name}(IntEnum):")
            lines += [f"    {value.name} = {value.number}" for value in each.value]
        for message in file.message_type:
            if any(not nested.options.map_entry for nested in message.nested_type):
                raise SystemExit(f"{message.name} has messages of its own; teach this script to write them")
            lines += class_lines(message)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    found = compiled(Path(sys.argv[1]).resolve())
    (HOME / "messages.binpb").write_bytes(found.SerializeToString(deterministic=True))
    (HOME / "messages.pyi").write_text(stub(found.file), "utf-8")


if __name__ == "__main__":
    main()
