from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_pydantic import PydanticCodec
from mqframe_testing.conformance import CodecConformance
from mqframe_testing.conformance.codec import UnknownClass
from pydantic import BaseModel, Field, field_validator

from mqframe.core.errors import DecodeError
from mqframe.hooks.interfaces import Codec
from mqframe.hooks.manager import PluginManager


class Article(BaseModel):
    number: str
    count: int = Field(1, alias="anzahl", ge=1)


class Order(BaseModel):
    id: int
    at: datetime
    articles: list[Article] = []

    @field_validator("id")
    @classmethod
    def is_positive(cls, value: int) -> int:
        if value < 0:
            raise ValueError("must not be negative")
        return value


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Home(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Note(BaseModel):
    text: str | None


@dataclass
class Parcel:
    weight: float


NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


class TestPydantic(CodecConformance):
    def make(self) -> Codec:
        return PydanticCodec()

    def values(self) -> Iterable[tuple[Any, Any]]:
        return [
            (Order, Order(id=7, at=NOW, articles=[Article(number="ü", anzahl=3)])),
            (list[Article], [Article(number="x" * (3 << 20))]),
            (Parcel, Parcel(1.5)),
            (Home, Home(pet=Dog(kind="dog"))),
            (dict[str, int], {"a": 1}),
            (Any, [1, None, "x"]),
        ]

    def wrong(self) -> Iterable[tuple[Any, bytes]]:
        secret = self.secret.encode()
        return [
            (Order, b"[]"),
            (Order, b'{"id":"' + secret + b'","at":"2026-01-02"}'),
            (Order, b'{"id":1,"at":"' + secret + b'"}'),
            (Home, b'{"pet":{"kind":"' + secret + b'"}}'),
            (Literal["a"], b'"' + secret + b'"'),
            (Parcel, b"\xff"),
            (Parcel, b""),
            (Any, b"[" * 100_000),
        ]

    def unfit(self) -> Iterable[Any]:
        return [UnknownClass(), "\ud800"]


def problem_of(kind: Any, body: bytes, **options: Any) -> tuple[str, str]:
    codec = PluginManager().create("codec", "pydantic", options)
    with pytest.raises(DecodeError) as caught:
        codec.decode(body, kind)
    return caught.value.problem, caught.value.path


def test_errors_say_what_and_where() -> None:
    body = b'{"id":-1,"at":"2026-01-02","articles":[{"number":"x","anzahl":0}]}'
    said, path = problem_of(Order, body)
    assert (said, path) == ("Value error, must not be negative (and 1 more)", "id")
    body = b'{"id":1,"at":"2026-01-02","articles":[{"number":"x","anzahl":0}]}'
    assert problem_of(Order, body) == (
        "Input should be greater than or equal to 1",
        "articles.0.anzahl",
    )


def test_options() -> None:
    codec = PluginManager().create("codec", "pydantic", {"by_alias": False})
    assert codec.encode(Article(number="x", anzahl=3)) == b'{"number":"x","count":3}'
    codec = PluginManager().create("codec", "pydantic", {"exclude_none": True})
    assert codec.encode(Note(text=None)) == b"{}"
    assert PydanticCodec().decode(b'"7"', int) == 7
    assert problem_of(int, b'"7"', strict=True)[0] == "Input should be a valid integer"


@given(st.builds(Article, number=st.text(), anzahl=st.integers(1, 2**80)))
def test_models_survive(value: Article) -> None:
    codec = PydanticCodec()
    assert codec.decode(codec.encode(value), Article) == value
