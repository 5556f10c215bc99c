from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pytest
from mqframe_testing.consuming import received

from mqframe.client.consuming.push.listener import ListenerContext, subscription
from mqframe.client.consuming.push.typed_handler import BodyType, typed_form
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.consuming.consume_rules import OnDecodeError, decode_error_choice
from mqframe.core.errors import DecodeError, FixError
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.manager import PluginManager

CODECS = Codecs(PluginManager(list))
CONTEXT = ListenerContext(MessageQueue("orders", "broker-a", 0), "billing")
OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER


@dataclass
class Order:
    id: int


class Stranger: ...


def one(order: Order) -> None: ...
def two(order: Order, message: ReceivedMessage) -> None: ...
def three(order: Order, message: ReceivedMessage, context: ListenerContext) -> None: ...
def bare(order): ...
def with_default(order: Order, log: Any = print) -> None: ...
async def coming(order: Order) -> ConsumeResult: ...


class Service:
    def handle(self, order: Order) -> None: ...


@functools.wraps(two)
def wrapped(*args, **kwargs): ...


@pytest.mark.parametrize(
    ("function", "count", "kind"),
    [
        (one, 1, Order),
        (two, 2, Order),
        (three, 3, Order),
        (bare, 1, Any),
        (with_default, 1, Order),
        (coming, 1, Order),
        (Service().handle, 1, Order),
        (wrapped, 2, Order),
        (functools.partial(two, message=None), 1, Order),
        (lambda order: None, 1, Any),
    ],
)
def test_forms(function, count, kind) -> None:
    found = typed_form(function, "orders", BodyType(None, CODECS))
    assert (found.count, found.type) == (count, kind)
    assert typed_form(function, "orders", BodyType(dict, CODECS)).type is dict


def text(order: Order) -> str: ...
def perhaps(order: Order) -> ConsumeResult | Order | None: ...
def result(order: Order) -> ConsumeResult | None: ...
def unsaid(order: Order): ...


@pytest.mark.parametrize(
    ("function", "replies"), [(text, True), (perhaps, True), (result, False), (unsaid, False)]
)
def test_who_is_annotated_to_return_a_value_replies(function, replies) -> None:
    assert typed_form(function, "orders", BodyType(None, CODECS)).replies is replies


def of_message(message: ReceivedMessage) -> None: ...
def truth(order: Order) -> bool | None: ...
def other_second(order: Order, context: ListenerContext) -> None: ...
def four(a, b, c, d) -> None: ...
def nothing() -> None: ...
def keyword(order: Order, *, log) -> None: ...
def unknown(order: Nowhere) -> None: ...  # noqa: F821
def strange(order: Stranger) -> None: ...
def generates(order: Order):
    yield order


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (of_message, "takes a message, and the topic is subscribed with type or codec; leave both out"),
        (other_second, "takes a ListenerContext as its second argument, which is the message"),
        (four, r"needs 4 arguments \(a, b, c, d\)"),
        (nothing, "needs 0 arguments"),
        (truth, "annotated to return a bool, which may be meant as done or failed"),
        (keyword, "needs the keyword argument 'log'"),
        (unknown, "takes a Nowhere, and there is no such name"),
        (strange, "cannot be given its values: Stranger cannot be decoded from JSON"),
        (generates, "is a generator"),
        (Order, "is a class"),
    ],
)
def test_what_can_never_work_is_refused_at_once(function, words) -> None:
    with pytest.raises(FixError, match=words):
        typed_form(function, "orders", BodyType(None, CODECS))


def test_a_batch_of_values_is_refused() -> None:
    with pytest.raises(FixError, match="takes one message, and batch_max is 8"):
        subscription("orders", "*", one, 8, 1, body=BodyType(None, CODECS))
    assert subscription("orders", "*", one, None, 1, usual_max=8, body=BodyType(None, CODECS)).batch_max == 1


def test_calls_give_what_was_asked_for() -> None:
    got = []

    def handle(order: Order, message: ReceivedMessage, context: ListenerContext) -> None:
        got.append((order, message, context))

    message = received(3, b'{"id":7}')
    found = subscription("orders", "*", handle, None, 1, body=BodyType(None, CODECS))
    assert found.function([message], CONTEXT) is OK
    assert got == [(Order(7), message, CONTEXT)]


@pytest.mark.parametrize("answer", [OK, LATER])
async def test_results_are_handed_on(answer) -> None:
    async def handle(order):
        return answer

    body = BodyType(Order, CODECS)
    found = subscription("orders", "*", handle, None, 1, body=body)
    assert found.is_async
    assert await found.function([received(3, b'{"id":7}')], CONTEXT) is answer
    found = subscription("orders", "*", lambda order: answer, None, 1, body=body)
    assert found.function([received(3, b'{"id":7}')], CONTEXT) is answer


def test_a_body_that_is_none_never_reaches_the_handler() -> None:
    found = subscription("orders", "*", lambda order: 1 / 0, None, 1, body=BodyType(Order, CODECS))
    with pytest.raises(DecodeError, match=r"queue 0, offset 3: json: Expected `int`, got `null` at \$\.id"):
        found.function([received(3, b'{"id":null}')], CONTEXT)


def test_words_for_what_becomes_of_it() -> None:
    assert decode_error_choice("retry") is OnDecodeError.RETRY
    assert decode_error_choice(OnDecodeError.DROP) is OnDecodeError.DROP
    with pytest.raises(FixError, match="'ignore'; choose one of dead_letter, retry, drop"):
        decode_error_choice("ignore")
