"""Listeners: what applications hand in to have messages handled."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import attrs
import msgspec

from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.client.consuming.push.signature import (
    ListenerKind,
    function_name,
    is_coroutine_function,
    kind_of,
)
from mqframe.client.consuming.push.typed_handler import BodyType, TypedHandler, typed_call, typed_form
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeResult
from mqframe.core.consuming.consume_rules import OnDecodeError
from mqframe.core.errors import FixError
from mqframe.core.filtering.filter_expression import Sql, filter_of
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

BATCH_MAX: Final = 1024
DELAY_LEVEL_MAX: Final = 1_000_000
"""Far beyond every broker's last level, which counts for all above it."""


class ListenerContext(msgspec.Struct, eq=False):
    """What a listener gets besides the messages, and where it may answer more than its result says.

    `queue`: where the messages come from; `group`: whom they were consumed for; `ack_index`: set it to the
    index of the last message that succeeded when only the front of a batch did, together with SUCCESS; not
    heeded in order. `delay_level_when_next_consume`: when messages that failed come again: 0 leaves that to
    the broker, a level names the wait, -1 makes them dead letters at once; in order only -1 is heeded.
    `suspend_current_queue_time_millis`: in order, for how long the queue pauses after a failure. `reason`:
    why its messages are given up, for the property `MQFRAME_REASON` of dead letters at once.
    """

    queue: MessageQueue
    group: str
    ack_index: int = ACKNOWLEDGE_ALL
    suspend_current_queue_time_millis: float | None = None
    reason: str = ""
    _delay_level: int = 0

    @property
    def delay_level_when_next_consume(self) -> int:
        """The delay level that failed messages are sent back with."""
        return self._delay_level

    @delay_level_when_next_consume.setter
    def delay_level_when_next_consume(self, level: int) -> None:
        if not isinstance(level, int) or not -DELAY_LEVEL_MAX <= level <= DELAY_LEVEL_MAX:
            raise FixError(f"delay level {level!r} is no whole number within ±{DELAY_LEVEL_MAX}")
        self._delay_level = level


Answer = ConsumeResult | None
"""What a handler returns: `None` means success."""

Handler = (
    Callable[[ReceivedMessage], Answer | Coroutine[Any, Any, Answer]]
    | Callable[[ReceivedMessage, ListenerContext], Answer | Coroutine[Any, Any, Answer]]
)
"""Takes one message, with or without the context. Returns when it is done, raises when the message is to come
again; may return a `ConsumeResult` instead. With a context, its first parameter is annotated
`ReceivedMessage`."""

BatchListener = Callable[
    [list[ReceivedMessage], ListenerContext], ConsumeResult | Coroutine[Any, Any, ConsumeResult]
]
"""Takes several messages of one queue and the context, and returns what became of them."""

ListenerFunction = Handler | BatchListener
"""What a topic can be subscribed with to get messages; plain functions and `async def`."""

Call = Callable[[list[ReceivedMessage], ListenerContext], Any]
"""How consume services call it."""

Single = Callable[[ReceivedMessage], Any]
"""How they call a handler that takes nothing but its message; `None` means success."""


@attrs.frozen
class ListenedTopic(TopicSubscription):
    """One topic that a consumer listens to.

    `function`: what is called with a batch and its context; `listener`: what the application handed in;
    `on_decode_error`: what becomes of messages at whose bodies it failed with a `DecodeError`; `single`: the
    handler itself, where a plain call with its message is all that `function` is.
    """

    function: Call
    batch_max: int
    is_async: bool
    listener: object
    takes_one: bool
    on_decode_error: OnDecodeError = OnDecodeError.DEAD_LETTER
    single: Single | None = None

    def of(self, message: ReceivedMessage) -> ListenedTopic:
        """The subscription of the handler that `message` is for."""
        return self

    def wrong_result(self, result: object) -> str:
        """What to say about `result`, which the listener returned and which is no `ConsumeResult`."""
        returned = "None" if result is None else f"a {type(result).__qualname__}"
        advice = "return ConsumeResult.SUCCESS, or take one message"
        if self.takes_one:
            advice = "return nothing or a ConsumeResult, and raise when the message is to come again"
        if inspect.isawaitable(result):
            advice = "make it an `async def`, so that it is awaited"
        return f"{function_name(self.listener)} returned {returned}; {advice}"


def subscription(
    topic: str,
    expression: str | Sql,
    function: ListenerFunction | TypedHandler,
    batch_max: int | None,
    version: int,
    *,
    usual_max: int = 1,
    body: BodyType | None = None,
    on_decode_error: OnDecodeError = OnDecodeError.DEAD_LETTER,
) -> ListenedTopic:
    """Checks what an application hands in. Raises `FixError` saying what is wrong.

    `batch_max`: messages in one call, `None` means `usual_max`; handlers always take one. `body`: what the
    bodies hold that `function`, a handler, is called with; `None`: it is called with messages.
    """
    if not callable(function):
        raise FixError(f"listener of topic {topic} is a {type(function).__qualname__}, not a function")
    is_async = is_coroutine_function(function)
    single: Single | None = None
    if body is not None:
        form = typed_form(function, topic, body)
        call, takes_one = typed_call(function, form, is_async=is_async), True
    else:
        kind = kind_of(function, topic)
        call, takes_one = _as_batch_call(function, kind, is_async), kind is not ListenerKind.BATCH
        if kind is ListenerKind.HANDLER and not is_async:
            single = cast("Single", function)
    if takes_one and batch_max not in (None, 1):
        raise FixError(
            f"listener {function_name(function)} of topic {topic} takes one message, and batch_max is"
            f" {batch_max}; leave that out, or write `def listen(messages, context)`, which returns a"
            " ConsumeResult"
        )
    size = 1 if takes_one else usual_max if batch_max is None else batch_max
    if not 1 <= size <= BATCH_MAX:
        raise FixError(f"listener of topic {topic}: batch_max {size} is not within 1 and {BATCH_MAX}")
    chosen = filter_of(expression)
    rest = is_async, function, takes_one, on_decode_error, single
    return ListenedTopic(topic, chosen, version, call, size, *rest)


def _as_batch_call(function: Callable[..., Any], kind: ListenerKind, is_async: bool) -> Call:
    """`function`, called with a batch: handlers with its only message, where `None` means success."""
    if kind is ListenerKind.BATCH:
        return function
    success = ConsumeResult.SUCCESS
    with_context = kind is ListenerKind.CONTEXT_HANDLER

    async def handle_async(messages: list[ReceivedMessage], context: ListenerContext) -> Any:
        (message,) = messages
        result = await (function(message, context) if with_context else function(message))
        return success if result is None else result

    def handle(messages: list[ReceivedMessage], context: ListenerContext) -> Any:
        (message,) = messages
        result = function(message, context) if with_context else function(message)
        return success if result is None else result

    return handle_async if is_async else handle
