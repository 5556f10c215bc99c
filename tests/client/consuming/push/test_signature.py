"""Which functions are handlers, which are batch listeners, and which are refused with what advice."""

from __future__ import annotations

import functools
import queue
from collections.abc import Sequence
from unittest.mock import Mock

import pytest

from mqframe import ConsumeResult, ListenerContext, ReceivedMessage
from mqframe.client.consuming.push.signature import (
    ListenerKind,
    function_name,
    is_coroutine_function,
    kind_of,
)
from mqframe.core.errors import FixError

HANDLER, WITH_CONTEXT, BATCH = ListenerKind.HANDLER, ListenerKind.CONTEXT_HANDLER, ListenerKind.BATCH


def one(message): ...


def one_typed(message: ReceivedMessage) -> None: ...


def one_with_default(message, retries=3): ...


def one_with_result(message: ReceivedMessage) -> ConsumeResult:
    return ConsumeResult.SUCCESS


async def one_async(message: ReceivedMessage) -> None: ...


def one_keyword_default(message, *, db=None): ...


def with_context(message: ReceivedMessage, context: ListenerContext) -> None: ...


def batch(messages, context): ...


def batch_typed(messages: list[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
    return ConsumeResult.SUCCESS


def batch_maybe(messages: Sequence[ReceivedMessage], context) -> ConsumeResult | None: ...


def variadic(*arguments): ...


def with_db(db, message): ...


def batch_with_db(db, messages, context): ...


class Service:
    def one(self, message): ...

    def batch(self, messages, context): ...

    async def one_async(self, message: ReceivedMessage) -> None: ...

    @staticmethod
    def static(message): ...

    @classmethod
    def of_class(cls, message): ...


class CalledWithOne:
    def __call__(self, message: ReceivedMessage) -> None: ...


class CalledAsync:
    async def __call__(self, messages, context): ...


def handing_on(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def giving_a_session(function):
    @functools.wraps(function)
    def wrapper(message):
        return function(message, "session")

    return wrapper


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (one, HANDLER),
        (one_typed, HANDLER),
        (one_with_default, HANDLER),
        (one_with_result, HANDLER),
        (one_async, HANDLER),
        (one_keyword_default, HANDLER),
        (lambda message: None, HANDLER),
        ([].append, HANDLER),
        (queue.SimpleQueue().put, HANDLER),
        (Service().one, HANDLER),
        (Service().one_async, HANDLER),
        (Service.static, HANDLER),
        (Service.of_class, HANDLER),
        (CalledWithOne(), HANDLER),
        (functools.partial(with_db, "db"), HANDLER),
        (handing_on(one), HANDLER),
        (giving_a_session(batch), HANDLER),
        (with_context, WITH_CONTEXT),
        (handing_on(with_context), WITH_CONTEXT),
        (functools.partial(with_context), WITH_CONTEXT),
        (batch, BATCH),
        (batch_typed, BATCH),
        (batch_maybe, BATCH),
        (lambda messages, context: ConsumeResult.SUCCESS, BATCH),
        (variadic, BATCH),
        (Mock(), BATCH),
        (Service().batch, BATCH),
        (CalledAsync(), BATCH),
        (functools.partial(batch_with_db, "db"), BATCH),
        (handing_on(batch), BATCH),
    ],
)
def test_kinds(function, kind) -> None:
    assert kind_of(function, "orders") is kind


def generator(message):
    yield message


async def async_generator(messages, context):
    yield messages


class CalledGenerator:
    def __call__(self, message):
        yield message


def none(): ...


def only_optional(message=None): ...


def three(messages, context, more): ...


def keyword_needed(message, *, db): ...


def several(messages: list[ReceivedMessage]): ...


def several_unresolved(messages: Sequence[Unknown]): ...  # noqa: F821


def batch_none(messages, context) -> None: ...


async def batch_none_async(messages, context) -> None: ...


def batch_text(messages, context) -> str: ...


def one_bool(message) -> bool: ...


class OpaqueCall:
    __signature__ = "none"

    def __call__(self, message): ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (generator, "is a generator: a call of it runs nothing"),
        (async_generator, "is a generator"),
        (CalledGenerator(), "is a generator"),
        (functools.partial(generator), "is a generator"),
        (none, "needs 0 arguments; write `def handle(message)`"),
        (only_optional, "needs 0 arguments"),
        (three, "needs 3 arguments (messages, context, more); write"),
        (keyword_needed, "needs the keyword argument 'db'"),
        (several, "takes only 'messages', and for several messages; add a parameter: `(messages, context)`"),
        (several_unresolved, "add a parameter: `(messages, context)`"),
        (Service.one, "is a method without its object"),
        (CalledWithOne, "is a class"),
        (OpaqueCall(), "does not tell its parameters"),
        (batch_none, "annotated to return None; a listener of (messages, context) returns"),
        (batch_none_async, "is annotated to return None"),
        (batch_text, "is annotated to return str"),
        (one_bool, "is annotated to return bool; a handler returns None"),
    ],
)  # fmt: skip
def test_refusals_name_the_function_and_what_to_write(function, words) -> None:
    with pytest.raises(FixError) as caught:
        kind_of(function, "orders")
    said = str(caught.value)
    assert said.startswith(f"listener {function_name(function)} of topic orders ")
    assert words in said


def test_names() -> None:
    module = __name__
    assert function_name(one) == f"{module}:one"
    assert function_name(Service().one) == f"{module}:Service.one"
    assert function_name(CalledWithOne()) == f"{module}:CalledWithOne"
    assert function_name(functools.partial(with_db, 1)) == f"partial of {module}:with_db"


def test_what_runs_on_the_loop() -> None:
    waiting = [one_async, Service().one_async, CalledAsync(), functools.partial(one_async)]
    assert all(is_coroutine_function(each) for each in waiting)
    assert not any(is_coroutine_function(each) for each in (one, CalledWithOne(), lambda m: None, Mock()))
