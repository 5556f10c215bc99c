"""Bodies in JSON, by msgspec."""

from __future__ import annotations

import builtins
import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.core.messages.codec import Codec

_AT: Final = " - at "
_WITH_VALUE: Final = re.compile(r"(Invalid (?:enum )?value) .*", re.DOTALL)
"""Messages that end with what the body holds there."""
_OTHERS: Final = {"model_validate_json": "pydantic", "DESCRIPTOR": "protobuf"}
"""Attributes by which classes of other libraries are known, and the codecs that have to do with these."""


class JsonCodec(Codec):
    """JSON: dataclasses, msgspec Structs, attrs classes, TypedDicts, named tuples, enums, dates, plain types.

    A value is decoded into the type that is asked for, and checked on the way; what the type does not name is
    left out, unless it forbids that.
    """

    name = "json"
    content_type = "application/json"

    def encode(self, value: Any) -> bytes:
        """UTF-8 without white space."""
        try:
            return msgspec.json.encode(value)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as problem:
            cause = str(problem) if isinstance(problem, TypeError) else type(problem).__name__
        hint = _hint(type(value))
        raise EncodeError(f"a {type(value).__qualname__} cannot be encoded as JSON: {cause}{hint}")

    def decode(self, body: bytes, type: Any) -> Any:
        """The value, checked against `type`."""
        try:
            return _decoder(type).decode(body)
        except msgspec.MsgspecError as problem:
            said = str(problem)
        except UnicodeDecodeError as problem:
            said = f"text is no UTF-8: {problem.reason}"
        except RecursionError:
            said = "nested too deeply"
        what, found, path = said.rpartition(_AT)
        if not found:
            what, path = said, ""
        raise DecodeError(_WITH_VALUE.sub(r"\1", what), path.replace("`", ""))

    def check(self, type: Any) -> None:
        """Raises `FixError` for classes that msgspec does not know, wherever in `type` they are."""
        try:
            _decoder(type)
            unknown = class_without_rules(type)
        except (TypeError, NameError) as problem:
            raise FixError(f"{_title(type)} cannot be decoded from JSON: {problem}") from problem
        if unknown is not None:
            raise FixError(
                f"{_title(type)} cannot be decoded from JSON: {unknown.__qualname__} is none of dataclass,"
                f" msgspec.Struct, attrs class, TypedDict and plain type{_hint(unknown)}"
            )


JSON: Final = JsonCodec()
"""What bodies are encoded by where nothing else is chosen."""


def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    try:
        return _cached_decoder(type)
    except TypeError:
        return msgspec.json.Decoder(type)  # not hashable, or no type at all, which raises again


@lru_cache(maxsize=1024)
def _cached_decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


def class_without_rules(type: Any) -> type | None:
    """A class in `type` that msgspec can make none of, as it does not know what it is made of.

    Raises `TypeError` or `NameError` for what is no type.
    """
    return _custom(msgspec.inspect.type_info(type))


def _custom(info: object, seen: set[int] | None = None) -> type | None:
    """A class in the type that msgspec describes by `info` and has no rules for."""
    seen = set() if seen is None else seen
    if id(info) in seen:
        return None  # the type names itself
    seen.add(id(info))
    if isinstance(info, msgspec.inspect.CustomType):
        cls: type = info.cls
        return cls
    inner: list[object] = []
    if isinstance(info, list | tuple):
        inner = list(info)
    elif isinstance(info, msgspec.Struct):
        inner = [getattr(info, name) for name in info.__struct_fields__]
    return next((found for each in inner if (found := _custom(each, seen)) is not None), None)


def _hint(cls: type) -> str:
    for attribute, codec in _OTHERS.items():
        if hasattr(cls, attribute):
            return f'; choose codec="{codec}"'
    return ""


def _title(type: Any) -> str:
    return type.__qualname__ if isinstance(type, builtins.type) else str(type)
