from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.conformance import CodecConformance

from mqframe.core.errors import DecodeError, EncodeError, FixError
from mqframe.core.messages.codec import Codec
from mqframe.core.messages.json_codec import JSON, JsonCodec, class_without_rules


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


class Order(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    price: Decimal
    at: datetime
    colour: Colour = Colour.RED


@attrs.define
class Parcel:
    weight: float


class Address(TypedDict):
    street: str


class Stranger:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree


@dataclass
class Holder:
    known: dict[str, list[Stranger]]


class TestJson(CodecConformance):
    def make(self) -> Codec:
        return JsonCodec()

    def values(self) -> Iterable[tuple[Any, Any]]:
        return [
            (Tree, Tree("a", [Tree("b"), Tree("ü", [Tree("d")])])),
            (Order, Order(7, Decimal("1.10"), datetime(2026, 1, 2, tzinfo=UTC))),
            (Parcel, Parcel(1.5)),
            (Address, {"street": "Am Markt"}),
            (list[int], [1, 2, 3]),
            (dict[str, Tree], {"a": Tree("b")}),
            (str, "x" * (4 << 20)),
            (Any, {"free": [None, True, 1.5]}),
        ]

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        return [
            (Tree, b"[]"),
            (Tree, b'{"name":1}'),
            (Tree, b'{"children":[]}'),
            (Tree, b'"' + self.secret.encode() + b'"'),
            (Colour, b'"' + self.secret.encode() + b'"'),
            (dict[str, Colour], b'{"a":"' + self.secret.encode() + b' - at `x`"}'),
            (str, b'"\xff"'),
            (int, b"1 2"),
            (Tree, b""),
            (Any, b"[" * 200_000),
        ]

    def unfit(self) -> Iterable[Any]:
        deep: list[Any] = []
        deep.append(deep)
        return [Stranger(Tree(self.secret)), deep, "\ud800", {(1, 2): self.secret}]

    def strangers(self) -> Iterable[Any]:
        return [Stranger, list[Stranger], Holder, "Tree", 7]


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(), st.lists))
def test_plain_values_survive(value: Any) -> None:
    assert JSON.decode(JSON.encode(value), Any) == value


@given(st.binary())
def test_anything_is_a_value_or_told(body: bytes) -> None:
    try:
        found = JSON.decode(body, Any)
    except DecodeError:
        return
    assert JSON.decode(JSON.encode(found), Any) == found


@pytest.mark.parametrize(
    ("kind", "body", "problem", "path"),
    [
        (Tree, b'{"name":"a","children":[{"name":7}]}', "Expected `str`, got `int`", "$.children[0].name"),
        (Tree, b"{}", "Object missing required field `name`", ""),
        (Colour, b'"blue"', "Invalid enum value", ""),
        (dict[str, int], b'{"a":null}', "Expected `int`, got `null`", "$[...]"),
        (dict[int, int], b'{"a":1}', "Expected `int`, got `str`", "key in $"),
        (Tree, b'{"name":"a"', "Input data was truncated", ""),
    ],
)
def test_errors_say_what_and_where(kind, body, problem, path) -> None:
    with pytest.raises(DecodeError) as caught:
        JSON.decode(body, kind)
    assert (caught.value.problem, caught.value.path) == (problem, path)


class LooksLikeModel:
    def model_validate_json(self) -> None: ...


class LooksLikeProtobuf:
    DESCRIPTOR = None


@pytest.mark.parametrize(("kind", "codec"), [(LooksLikeModel, "pydantic"), (LooksLikeProtobuf, "protobuf")])
def test_classes_of_other_libraries_are_told_which_codec_to_choose(kind, codec) -> None:
    with pytest.raises(FixError, match=f'choose codec="{codec}"'):
        JSON.check(list[kind])
    with pytest.raises(EncodeError, match=f'choose codec="{codec}"'):
        JSON.encode(kind())


def test_the_class_without_rules_is_found_wherever_it_is() -> None:
    assert class_without_rules(Holder) is Stranger
    assert class_without_rules(Tree) is None
