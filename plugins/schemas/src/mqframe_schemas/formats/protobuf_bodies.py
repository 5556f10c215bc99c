"""Message types of Protocol Buffers, from descriptor sets and generated classes."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, Final

from mqframe.core.errors import FixError
from mqframe.core.printable import shortened
from mqframe_schemas.formats.bodies import BodySchema, ParsedSchema, SchemaFormat, UnfitBody
from mqframe_schemas.formats.libraries import library
from mqframe_schemas.rules.compatibility import Described, Difference
from mqframe_schemas.rules.history import SchemaVersion
from mqframe_schemas.rules.protobuf_schema import FieldShape, ProtobufComparison, ProtobufShape

EMPTY: Final = b"\xf8\xff\xff\xff\x0f\x00"
"""What the codec `protobuf` writes for a message without any field, as brokers take no empty bodies."""
_SHOWN: Final = 500
_ADVICE: Final = "make one with: protoc --include_imports --descriptor_set_out=FILE.pb FILE.proto"


class ProtobufFormat(SchemaFormat):
    """Message types, kept with all files that they need."""

    name = "protobuf"
    codec = "protobuf"

    def parse(self, source: Any, message: str = "") -> ParsedSchema:
        """A generated class, or the bytes of a `FileDescriptorSet`; `message`: the name of a type in it."""
        files = _files_of_class(source) if hasattr(source, "DESCRIPTOR") else _files_of_bytes(source)
        name = message or (source.DESCRIPTOR.full_name if hasattr(source, "DESCRIPTOR") else _only(files))
        for file in files.file:
            _reduce(file)
        text = b64encode(files.SerializeToString(deterministic=True)).decode()
        _class(text, name)
        return ParsedSchema(text, name)

    def load(self, version: SchemaVersion) -> BodySchema:
        """With a class that is made of the descriptors."""
        return ProtobufBodies(*_class(version.text, version.name))

    def unread(self, writer: Described, reader: Described) -> list[Difference]:
        """By the rules of `mqframe_schemas.rules.protobuf_schema`."""
        return ProtobufComparison(
            shape_of(writer.text, writer.name), shape_of(reader.text, reader.name)
        ).differences()


class ProtobufBodies(BodySchema):
    """One message type. A body of another one may be legal: one with fields that this has not is refused."""

    def __init__(self, made: Any, pool: Any) -> None:
        self._class = made
        self._pool = pool
        self._unknown = library("google.protobuf.unknown_fields", "protobuf").UnknownFieldSet
        self._dict = library("google.protobuf.json_format", "protobuf").MessageToDict

    def check(self, body: bytes) -> None:
        """Raises `UnfitBody` for what is no such message, lacks fields or has others."""
        for path, message in _messages(self._read(body), ""):
            others = [str(field.field_number) for field in self._unknown(message)]
            if others:
                raise UnfitBody(f"has field {', '.join(others)}, which the schema does not have", path)

    def decode(self, body: bytes) -> Any:
        """Its fields by name, as Protocol Buffers write them in JSON."""
        return self._dict(self._read(body), preserving_proto_field_name=True, descriptor_pool=self._pool)

    def _read(self, body: bytes) -> Any:
        problems = library("google.protobuf.message", "protobuf")
        name = self._class.DESCRIPTOR.full_name
        try:
            found = self._class.FromString(b"" if body == EMPTY else body)
        except problems.DecodeError:
            raise UnfitBody(f"it is no {name}, or cut off") from None
        if not found.IsInitialized():
            raise UnfitBody(f"it is a {name} without {', '.join(found.FindInitializationErrors())}")
        return found


def shape_of(text: str, name: str) -> ProtobufShape:
    """What rules look at of the message type `name` in a descriptor set."""
    kinds = library("google.protobuf.descriptor_pb2", "protobuf").FieldDescriptorProto
    messages: dict[str, tuple[FieldShape, ...]] = {}
    enums: dict[str, frozenset[int]] = {}

    def field(each: Any, choices: Any) -> FieldShape:
        choice = choices[each.oneof_index].name if each.HasField("oneof_index") else ""
        return FieldShape(
            each.number,
            each.name,
            kinds.Type.Name(each.type).removeprefix("TYPE_").lower(),
            each.label == kinds.LABEL_REPEATED,
            each.label == kinds.LABEL_REQUIRED,
            each.type_name.removeprefix("."),
            "" if each.proto3_optional else choice,
        )

    def enter(message: Any, inside: str) -> None:
        full = f"{inside}.{message.name}".removeprefix(".")
        messages[full] = tuple(field(each, message.oneof_decl) for each in message.field)
        enter_enums(message.enum_type, full)
        for inner in message.nested_type:
            enter(inner, full)

    def enter_enums(found: Any, inside: str) -> None:
        for each in found:
            enums[f"{inside}.{each.name}".removeprefix(".")] = frozenset(value.number for value in each.value)

    for file in _files_of_text(text).file:
        enter_enums(file.enum_type, file.package)
        for message in file.message_type:
            enter(message, file.package)
    return ProtobufShape(name, messages, enums)


def _files_of_class(source: Any) -> Any:
    descriptors = library("google.protobuf.descriptor_pb2", "protobuf")
    files, seen = descriptors.FileDescriptorSet(), set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for needed in file.dependencies:
            add(needed)
        file.CopyToProto(files.file.add())

    add(source.DESCRIPTOR.file)
    return files


def _reduce(file: Any) -> None:
    """Leave out what files of protoc and generated classes say in different words, and comments."""
    file.ClearField("source_code_info")
    if file.syntax == "proto2":
        file.ClearField("syntax")
    left = list(file.message_type)
    while left:
        message = left.pop()
        left += message.nested_type
        for field in message.field:
            first, *others = field.name.split("_")
            if field.json_name == first + "".join(each[:1].upper() + each[1:] for each in others):
                field.ClearField("json_name")


def _files_of_bytes(source: Any) -> Any:
    if not isinstance(source, bytes):
        raise FixError(f"a descriptor set is bytes, this is a {type(source).__qualname__}; {_ADVICE}")
    files = library("google.protobuf.descriptor_pb2", "protobuf").FileDescriptorSet
    try:
        found = files.FromString(source)
    except library("google.protobuf.message", "protobuf").DecodeError:
        found = files()
    if not found.file:
        raise FixError(f"these {len(source)} bytes are no descriptor set of Protocol Buffers; {_ADVICE}")
    return found


def _files_of_text(text: str) -> Any:
    try:
        return _files_of_bytes(b64decode(text, validate=True))
    except binascii.Error as problem:
        raise FixError(f"the descriptor set is no base64: {problem}") from None


def _only(files: Any) -> str:
    """The message type that is meant where nobody says so: the only one of the last file."""
    last = files.file[-1]
    names = [f"{last.package}.{each.name}".removeprefix(".") for each in last.message_type]
    if len(names) == 1:
        return names[0]
    raise FixError(
        f"{last.name} has the message types {', '.join(names) or '(none)'}; say which one is meant"
    )


def _class(text: str, name: str) -> tuple[Any, Any]:
    pool = library("google.protobuf.descriptor_pool", "protobuf").DescriptorPool()
    try:
        for file in _files_of_text(text).file:
            pool.Add(file)
        found = pool.FindMessageTypeByName(name)
    except (TypeError, KeyError, ValueError) as problem:
        raise FixError(
            f"message type {name} cannot be made of its descriptors: {shortened(str(problem), _SHOWN)};"
            f" {_ADVICE}"
        ) from problem
    return library("google.protobuf.message_factory", "protobuf").GetMessageClass(found), pool


def _messages(message: Any, path: str) -> Iterator[tuple[str, Any]]:
    """`message` and all messages in it, each with where it is."""
    yield path, message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inside = f"{path}.{field.name}" if path else field.name
        if hasattr(value, "DESCRIPTOR"):
            yield from _messages(value, inside)
        elif field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for inner in value.values():
                    yield from _messages(inner, f"{inside}.*")
        else:
            for index, inner in enumerate(value):
                yield from _messages(inner, f"{inside}[{index}]")


def described(text: str) -> Any:
    """The files of a descriptor set, as Protocol Buffers write them in JSON."""
    to_dict = library("google.protobuf.json_format", "protobuf").MessageToDict
    return to_dict(_files_of_text(text), preserving_proto_field_name=True)["file"]
