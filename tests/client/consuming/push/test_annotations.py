"""What annotations of listeners say, resolved or not."""

from __future__ import annotations

import enum
from collections.abc import Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, Protocol

import pytest
from mqframe_pop.rules.popped import PoppedMessage

import mqframe
from mqframe.client.consuming.push.annotations import (
    is_message,
    is_sequence,
    may_be_result,
    resolved,
    signature_of,
)
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import ReceivedMessage

if TYPE_CHECKING:
    from nowhere import Nothing

Alias = ReceivedMessage


class Shaped(Protocol):
    value: str


@pytest.mark.parametrize(
    "annotation",
    [
        ReceivedMessage,
        PoppedMessage,
        Annotated[ReceivedMessage, "paid"],
        Optional[ReceivedMessage],  # noqa: UP045 - it is what users write
        ReceivedMessage | None,
        "ReceivedMessage",
        "mq.ReceivedMessage",
        "Unknown | ReceivedMessage",
    ],
)
def test_one_message(annotation) -> None:
    assert is_message(annotation)
    assert not is_sequence(annotation)


@pytest.mark.parametrize(
    "annotation",
    [
        list,
        list[ReceivedMessage],
        Sequence[ReceivedMessage],
        Iterable[ReceivedMessage],
        tuple[ReceivedMessage, ...],
        Annotated[list[ReceivedMessage], "paid"],
        "list[Unknown]",
        "typing.Sequence[Unknown]",
        "List[Unknown]",
    ],
)
def test_several_messages(annotation) -> None:
    assert is_sequence(annotation)
    assert not is_message(annotation)


@pytest.mark.parametrize("annotation", [Any, str, bytes, int, "Unknown", object, mqframe.Message])
def test_neither(annotation) -> None:
    assert not is_sequence(annotation)
    assert not is_message(annotation)


@pytest.mark.parametrize(
    ("annotation", "batch", "handler"),
    [
        (ConsumeResult, True, True),
        (Any, True, True),
        (object, True, True),
        (enum.Enum, True, True),
        (ConsumeResult | None, True, True),
        (Literal[ConsumeResult.SUCCESS], True, True),
        ("Unknown", True, True),
        (Shaped, True, True),
        (None, False, True),
        (type(None), False, True),
        ("None", False, True),
        (Literal[None], False, True),
        (str, False, False),
        (int, False, False),
        (bool, False, False),
        (int | str, False, False),
        (int | None, False, True),
        (list[ConsumeResult], False, False),
        (Coroutine[Any, Any, ConsumeResult], False, False),
        (Literal["success"], False, False),
    ],
)
def test_what_a_result_may_be(annotation, batch, handler) -> None:
    assert may_be_result(annotation, none=False) is batch
    assert may_be_result(annotation, none=True) is handler


def test_texts_are_resolved_where_that_is_possible() -> None:
    nearby = ReceivedMessage

    def listen(message: Alias, other: nearby, missing: Nothing) -> None:
        assert nearby

    listen.__annotations__["broken"] = "1 +"
    found = {name: resolved(each, listen) for name, each in listen.__annotations__.items()}
    assert found == {
        "message": ReceivedMessage,
        "other": ReceivedMessage,
        "missing": "Nothing",
        "broken": "1 +",
        "return": type(None),
    }
    assert resolved(int, listen) is int


def test_texts_of_methods_and_objects_that_are_called_are_resolved() -> None:
    class Service:
        def listen(self, message: Alias) -> None: ...

        def __call__(self, message: Alias) -> None: ...

    assert resolved("Alias", Service().listen) is ReceivedMessage
    assert resolved("Alias", Service()) is ReceivedMessage


def test_what_has_no_signature_has_none() -> None:
    class Odd:
        __signature__ = "none"

        def __call__(self) -> None: ...

    assert signature_of(Odd()) is None
    assert signature_of(print) is not None
