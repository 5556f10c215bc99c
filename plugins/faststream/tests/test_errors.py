"""Which errors are about a handler's arguments, and what is said of bodies that handlers cannot take."""

from __future__ import annotations

import inspect
import json

import msgspec
import pydantic
import pytest
from fast_depends.exceptions import ValidationError
from fast_depends.library.serializer import OptionItem
from fast_depends.msgspec import MsgSpecSerializer
from fast_depends.pydantic import PydanticSerializer
from mqframe_faststream.errors import NotingSerializer, is_of_arguments, undecodable
from mqframe_testing.consuming import received

INNER = [PydanticSerializer(use_fastdepends_errors=False), PydanticSerializer(), MsgSpecSerializer()]


@pytest.mark.parametrize("inner", INNER, ids=["pydantic", "wrapped", "msgspec"])
def test_an_error_of_the_arguments_is_known_once(inner) -> None:
    check = NotingSerializer(inner)(
        name="handle", options=[OptionItem("value", int)], response_type=inspect.Parameter.empty
    )
    assert check({"value": 1}) == {"value": 1}
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each serializer has an error of its own
        check({"value": "none"})
    assert is_of_arguments(caught.value)
    assert not is_of_arguments(caught.value)


def test_what_a_handler_raises_is_none_of_them() -> None:
    check = NotingSerializer(INNER[0])(name="handle", options=[OptionItem("value", int)], response_type=int)
    with pytest.raises(ValueError, match="valid integer"):
        check.response("none")
    assert not is_of_arguments(ValueError("of the handler"))


def test_bodies_are_encoded_as_by_the_inner_one() -> None:
    assert NotingSerializer(INNER[0]).encode({"a": 1}) == INNER[0].encode({"a": 1}) == b'{"a":1}'


class Order(pydantic.BaseModel):
    cents: int


def raised(call) -> Exception:
    try:
        call()
    except Exception as problem:
        return problem
    raise AssertionError("it is taken")


def wrapped(problem: Exception) -> ValidationError:
    return ValidationError(incoming_options={}, locations=(), expected={}, original_error=problem)


def test_pydantic_says_where_and_not_what_was_there() -> None:
    problem = undecodable(received(7, queue_id=2), wrapped(raised(lambda: Order(cents="a secret"))))
    assert (problem.topic, problem.broker_name, problem.queue_id, problem.queue_offset) == (
        "orders", "broker-a", 2, 7,
    )  # fmt: skip
    assert problem.path == "cents"
    assert "valid integer" in problem.reason
    assert "secret" not in str(problem)


def test_msgspec_says_what_is_expected() -> None:
    problem = undecodable(received(7), wrapped(raised(lambda: msgspec.convert("x", int))))
    assert problem.reason == "faststream: Expected `int`, got `str`"


def test_of_others_their_kind_alone_is_told() -> None:
    problem = undecodable(received(7), raised(lambda: json.loads("{secret")))  # type: ignore[arg-type]
    assert problem.reason == "faststream: decoding failed with JSONDecodeError"
