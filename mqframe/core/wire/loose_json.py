"""Fastjson's dialect of JSON, which bodies and config files are written in (wire.md §2).

Besides JSON it has bare integer keys (`{0:"a"}`), object keys (`{{"topic":"t"}:1}`), single quotes and
trailing commas. Reading takes all of these; writing quotes integer keys, which every reader accepts, and
writes keys that are message queues as objects, which Java readers require.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue

T = TypeVar("T")

DIALECT_BYTES_MAX: Final = 32 * 1024
"""Longest body of a request that is read in the dialect of fastjson; a longer one has to be JSON."""
DEPTH_MAX: Final = 64
"""Objects and arrays within each other that the dialect may have."""

_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
_strict: Final = msgspec.json.Decoder()
_encode: Final = msgspec.json.Encoder().encode
_SPACE: Final = re.compile(r"[\s\ufeff]*")
_WORD: Final = re.compile(r"[A-Za-z0-9_$.+-]+")
_DOUBLE: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE: Final = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_SHOWN: Final = 40
_NULL: Final = b":null"


def loads(text: bytes | memoryview | str, dialect_bytes_max: int | None = None) -> Any:
    """The value that `text` stands for; keys that are message queues come as `MessageQueue`.

    `dialect_bytes_max`: longer text has to be JSON. Reading the dialect takes a hundred times as long.
    Raises `BodyError` naming the position.
    """
    try:
        return _strict.decode(text)
    except RecursionError:
        raise BodyError("JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeError) as problem:
        if dialect_bytes_max is not None and len(text) > dialect_bytes_max:
            raise BodyError(
                f"{len(text)} bytes that are not JSON ({problem}); only up to {dialect_bytes_max} bytes are "
                "read in the dialect of fastjson"
            ) from None
    try:
        plain = text if isinstance(text, str) else str(text, "utf-8")
    except UnicodeDecodeError as problem:
        raise BodyError(f"JSON is not UTF-8: {problem}") from None
    return _Reader(plain).whole()


def decode(text: bytes | memoryview | str, kind: type[T], dialect_bytes_max: int | None = None) -> T:
    """`text` as a `kind` (a msgspec Struct or anything that msgspec converts to).

    `dialect_bytes_max`: as for `loads`. Raises `BodyError`.
    """
    try:
        return _decoder(kind).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # in the dialect perhaps
    try:
        return msgspec.convert(loads(text, dialect_bytes_max), kind, strict=False)
    except msgspec.ValidationError as problem:
        raise BodyError(f"{kind.__name__}: {problem}") from None


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = msgspec.json.Decoder(kind, strict=False)
    return found


def dumps(value: Any) -> bytes:
    """`value` (built-in types, msgspec Structs) in the dialect, UTF-8; fields that are None are left out.

    Raises `BodyError` for text that cannot be encoded.
    """
    try:
        return _dump(value)
    except UnicodeEncodeError as problem:
        bad = problem.object[problem.start]
        raise BodyError(f"{bad!r} is no character that UTF-8 can carry, in {problem.object[:80]!r}") from None


def _dump(value: Any) -> bytes:
    try:
        plain = _encode(value)
    except TypeError:
        plain = None  # a key that is an object
    if plain is not None:
        plain = _cut_nulls(plain)
        if plain is not None:
            return plain
    if isinstance(value, msgspec.Struct):
        return _write_struct(value)
    return _write(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_as_is)).encode()


def _cut_nulls(plain: bytes) -> bytes | None:
    """JSON without the names whose value is null; `None` where that cannot be told from texts at once."""
    at = plain.find(_NULL)
    if at < 0:
        return plain
    parts: list[bytes] = []
    kept = 0
    while at >= 0:
        # Within a text each quote has a backslash before it, and behind its end stands one of , : ] and }.
        # So a name of plain letters between two quotes, behind { or a comma, is one.
        first, end = plain.rfind(b'"', kept, at - 1), at + len(_NULL)
        before, behind = plain[first - 1 : first], plain[end : end + 1]
        name, last = plain[first + 1 : at - 1], plain[at - 1 : at]
        if last != b'"' or not name.isalnum() or before not in (b"{", b",") or behind not in (b",", b"}"):
            return None
        if before == b"," and first > kept:
            first -= 1
        else:
            end += behind == b","
        parts.append(plain[kept:first])
        kept = end
        at = plain.find(_NULL, end)
    parts.append(plain[kept:])
    return b"".join(parts)


def _write_struct(value: msgspec.Struct) -> bytes:
    # Field by field: what is None is mostly a small part of something large.
    fields = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    pairs = [(wire, getattr(value, name)) for name, wire in fields]
    return b"{%b}" % b",".join(
        b"%b:%b" % (_encode(wire), dumps(item)) for wire, item in pairs if item is not None
    )


def _as_is(value: Any) -> Any:
    raise BodyError(f"{type(value).__name__} cannot be written as JSON")


def _write(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_key(k)}:{_write(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_write, value)) + "]"
    return _encode(value).decode()


def _key(key: Any) -> str:
    if isinstance(key, tuple):
        topic, broker_name, queue_id = key
        return _encode({"brokerName": broker_name, "queueId": queue_id, "topic": topic}).decode()
    return _encode(str(key)).decode()


class _Reader:
    """A recursive reader of the dialect over one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.in_key = False

    def whole(self) -> Any:
        value = self.value(0)
        self.space()
        if self.at != len(self.text):
            raise self.problem("something follows the value")
        return value

    def problem(self, what: str) -> BodyError:
        return BodyError(f"JSON, character {self.at}: {what}, at {self.text[self.at : self.at + 20]!r}")

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        self.space()
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.at += 1
            return True
        return False

    def value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise self.problem(f"nested deeper than {DEPTH_MAX}")
        match self.peek():
            case "{":
                return self.object(depth)
            case "[":
                return self.array(depth)
            case '"' | "'":
                return self.string()
            case _:
                return self.word()

    def object(self, depth: int) -> dict[Any, Any]:
        self.at += 1
        pairs: dict[Any, Any] = {}
        while not self.take("}"):
            key = self.key(depth)
            if not self.take(":"):
                raise self.problem("':' expected")
            pairs[key] = self.value(depth + 1)
            if not self.take(",") and self.peek() != "}":
                raise self.problem("',' or '}' expected")
        return pairs

    def key(self, depth: int) -> Any:
        match self.peek():
            case "{":
                return self.object_key(depth)
            case '"' | "'":
                return self.string()
            case _:
                match = _WORD.match(self.text, self.at)
                if match is None:
                    raise self.problem("a key expected")
                self.at = match.end()
                return match[0]

    def object_key(self, depth: int) -> Any:
        # As text, keys within keys would double their backslashes with each level.
        if self.in_key:
            raise self.problem("an object as a key within a key")
        if depth >= DEPTH_MAX:
            raise self.problem(f"nested deeper than {DEPTH_MAX}")
        self.in_key = True
        key = self.object(depth + 1)
        self.in_key = False
        return _queue_or_text(key)

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        items = []
        while not self.take("]"):
            items.append(self.value(depth + 1))
            if not self.take(",") and self.peek() != "]":
                raise self.problem("',' or ']' expected")
        return items

    def string(self) -> str:
        double = self.text[self.at] == '"'
        match = (_DOUBLE if double else _SINGLE).match(self.text, self.at)
        if match is None:
            raise self.problem("a text without end")
        self.at = match.end()
        quoted = match[0] if double else '"' + match[1].replace("\\'", "'").replace('"', '\\"') + '"'
        try:
            return str(_strict.decode(quoted))
        except (msgspec.DecodeError, UnicodeError) as problem:
            raise self.problem(str(problem)) from None

    def word(self) -> Any:
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.problem("a value expected")
        self.at = match.end()
        word = match[0]
        if word in _WORDS:
            return _WORDS[word]
        try:
            return _strict.decode(word)
        except msgspec.DecodeError:
            raise self.problem(f"{word[:_SHOWN]!r} is not a value") from None


def _queue_or_text(key: dict[Any, Any]) -> Any:
    topic, broker_name, queue_id = key.get("topic"), key.get("brokerName"), key.get("queueId")
    if isinstance(topic, str) and isinstance(broker_name, str) and isinstance(queue_id, int):
        return MessageQueue(topic, broker_name, queue_id)
    return _encode(key).decode()
