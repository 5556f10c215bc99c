"""Bodies of any request kind: made from the classes that stand for them, then bent."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from fuzz import values
from fuzz.facts import Facts
from fuzz.properties import properties_text
from fuzz.stored import record_bytes
from msgspec import inspect

from mqframe.core.messages.batch import encode_element
from mqframe.core.requests import Request
from mqframe.core.wire.bodies import Body

_SETTINGS = (
    "flushDiskType", "brokerPermission", "store.directory", "maxMessageSize", "defaultQueryMaxNum", "x",
    "transactionTimeOut", "orderMessageEnable", "kvConfigPath", "popPollingSize", "enablePropertyFilter",
    "longPollingEnable", "autoCreateSubscriptionGroup",
)  # fmt: skip
"""Keys of settings. Those by which an operator may well switch off what is looked at are not among them."""
_HARMLESS = {
    "brokerPermission": "6",
    "transactionTimeOut": "6000",
    "longPollingEnable": "true",
    "maxMessageSize": "4194304",
}
"""Of keys with which some values would switch off what is looked at: a value that does not."""
_DEPTHS = (10, 65, 300, 5_000, 100_000)


def _subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


class BodyMaker:
    """Makes `Frame.body` of requests. `facts`: what answers said."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._kinds = {kind.__name__: inspect.type_info(kind) for kind in _subclasses(Body)}

    def body(
        self, kind: type[Request], chance: Random, now_ms: int, odd: float
    ) -> tuple[bytes, dict[str, str]]:
        """A body for `kind`, and header fields that it makes necessary."""
        if kind.BODY == "message body":
            return (values.some_bytes(chance) if values.flip(chance, odd) else b"body %d" % now_ms), {}
        if kind.BODY.startswith("batch of messages"):
            return _batch(chance, odd), {}
        if kind.BODY in ("one record", "a stored message"):
            return record_bytes(chance, odd), {}
        if kind.BODY == "key=value lines":
            return _settings(chance, odd), {}
        if kind.BODY in self._kinds:
            value = self._value(self._kinds[kind.BODY], "", chance, now_ms, odd, 0)
            raw = self._bent(_written(value, chance), chance, odd)
            if kind.BODY == "RegisterBrokerBody" and values.flip(chance, 0.5):
                return _compressed(raw, chance, odd), {"compressed": "true"}
            return raw, {}
        return (values.some_bytes(chance) if values.flip(chance, odd * 0.5) else b""), {}

    def _value(self, kind: Any, name: str, chance: Random, now_ms: int, odd: float, depth: int) -> Any:
        """A value of `kind`, or with a chance of `odd` one of another type."""
        if values.flip(chance, odd * 0.3):
            return chance.choice(
                (None, True, -1, 1.5, 2**64, "", "x", [], {}, [[]], {"a": 1}, 10**400, 1e308)
            )
        again = lambda inner, word=name: self._value(inner, word, chance, now_ms, odd, depth + 1)  # noqa: E731
        match kind:
            case inspect.StructType():
                fields = [f for f in kind.fields if f.required or values.flip(chance, 0.8)]
                return {
                    f.encode_name: again(f.type, f.name) for f in fields if not values.flip(chance, odd * 0.1)
                }
            case inspect.ListType():
                many = chance.choice((0, 1, 2, 3)) if not values.flip(chance, odd * 0.1) else 300 // 5**depth
                return [again(kind.item_type) for _ in range(many)]
            case inspect.DictType():
                return {str(again(kind.key_type)): again(kind.value_type) for _ in range(chance.randrange(4))}
            case inspect.UnionType():
                return again(chance.choice(kind.types))
            case inspect.BoolType():
                return values.flip(chance, 0.5)
            case inspect.IntType():
                return self._number(name, chance, now_ms, odd)
            case inspect.FloatType():
                return chance.random()
            case inspect.NoneType():
                return None
            case _:
                return self._text(name, chance, odd)

    def _number(self, name: str, chance: Random, now_ms: int, odd: float) -> int:
        if values.flip(chance, odd):
            return values.number(chance)
        known = self._facts.some(chance, {"pop_time": "popTime", "start_offset": "offset"}.get(name, name))
        if known is not None and known.lstrip("-").isdecimal() and values.flip(chance, 0.7):
            return int(known)
        if name == "perm":
            return chance.choice((6, 4, 2))
        return chance.choice((0, 0, 1, 1, 2, 3, 16, now_ms, 60_000))

    def _text(self, name: str, chance: Random, odd: float) -> str:
        if name == "client_id":
            # Ids that change are what a client behind a restart has: they must not be kept for ever.
            return chance.choice(("fuzz@1", "fuzz@2", f"fuzz@{chance.getrandbits(40)}"))
        if name == "bits":
            return chance.choice(("AQ==", "Aw==", "/////w==", "AAAA" * 4000, "!", "", "//" * 30_000))
        if "topic" in name:
            return values.topic(chance, odd)
        if "group" in name:
            return values.group(chance, odd)
        if name in ("sub_string",):
            return chance.choice(values.EXPRESSIONS)
        if name in ("expression_type", "mode", "message_model", "consume_type", "type"):
            return chance.choice(
                (
                    "TAG",
                    "SQL92",
                    "PULL",
                    "POP",
                    "CLUSTERING",
                    "BROADCASTING",
                    "CONSUME_POP",
                    "EXPONENTIAL",
                    "x",
                )
            )
        return values.text(chance) if values.flip(chance, odd) else chance.choice(("x", "1", "broker-a"))

    def _bent(self, raw: bytes, chance: Random, odd: float) -> bytes:
        """`raw` as it is, or with something wrong in its bytes."""
        if not values.flip(chance, odd * 0.4):
            return raw
        at = chance.randrange(len(raw) + 1)
        depth = chance.choice(_DEPTHS)
        return chance.choice(
            (
                raw[:at],
                raw[:at] + chance.randbytes(1) + raw[at + 1 :],
                raw[:at] + raw[at // 2 :],
                raw + b" " * 3000 + b"x",
                b'{"a":' * depth + b"1" + b"}" * depth,
                b"[" * depth + b"]" * depth,
                b"{{" * depth + b"}:1}" * depth,
                raw.replace(b'"', b"'"),
                raw.replace(b'"', b""),
                b"\xff\xfe" + raw,
                b'"\\ud800"',
                b'{"' + b"k" * 100_000 + b'":1',
                b"'" + b"\\'" * 50_000,
                b'"' + b"\\" * 50_001,
                b"1" * 100_000,
                b"{" + b"a:1," * 20_000 + b"b",
                b" " * 200_000,
            )
        )


def _written(value: Any, chance: Random) -> bytes:
    """`value` as JSON, sometimes with bare keys of numbers, as Java's brokers write it."""
    try:
        return msgspec.json.encode(value) if values.flip(chance, 0.5) else json.dumps(value).encode()
    except (msgspec.MsgspecError, OverflowError, ValueError, UnicodeEncodeError):
        return json.dumps(str(value)[:1000]).encode()


def _batch(chance: Random, odd: float) -> bytes:
    parts = [
        encode_element(
            b"part %d" % number,
            properties_text(chance, odd).encode("utf-8", "replace")[:32767],
            chance.choice((0, 0, 7, -1)),
        )
        for number in range(chance.choice((1, 2, 3, 40)))
    ]
    if values.flip(chance, odd * 0.5):
        at = chance.randrange(len(parts))
        broken = bytearray(parts[at])
        struct.pack_into(
            ">i", broken, chance.choice((0, 16)), max(-(2**31), min(2**31 - 1, values.number(chance)))
        )
        parts[at] = bytes(broken)[: chance.choice((None, 3, 21))]
    return b"".join(parts)


def _settings(chance: Random, odd: float) -> bytes:
    lines = []
    for _ in range(chance.randrange(4)):
        key = chance.choice(_SETTINGS)
        value = _HARMLESS.get(key) or (
            values.number_text(chance) if values.flip(chance, 0.5) else values.text(chance)
        )
        if key in _HARMLESS or values.flip(chance, odd):
            lines.append(f"{key}={value}")
    raw = "\n".join(lines).encode("utf-8", "replace")
    return (
        raw
        if not values.flip(chance, odd * 0.2)
        else raw + chance.choice((b"\xff", b"=", b"\n=\n", b"a" * 9999))
    )


def _compressed(raw: bytes, chance: Random, odd: float) -> bytes:
    """A registration in the parts that brokers compress, or what only looks like one."""
    if values.flip(chance, odd):
        bomb = zlib.compress(b"\x00" * chance.choice((100, 1 << 20, 8 << 20)))
        return chance.choice((zlib.compress(raw), raw, bomb, bomb[:-5], zlib.compress(chance.randbytes(50))))
    topics = [f"{values.topic(chance, odd)} 4 4 6 SINGLE_TAG".encode("utf-8", "replace") for _ in range(3)]
    parts = [b'{"counter":1,"stateVersion":0,"timestamp":1}', *topics, b"[]"]
    packed = [struct.pack(">i", len(part)) + part for part in parts]
    packed.insert(1, struct.pack(">i", len(topics)))
    return zlib.compress(b"".join(packed) + struct.pack(">i", 0))
