"""Handlers that take the value in a message's body instead of the message."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final

import attrs

from mqframe.client.consuming.push.annotations import is_message, resolved
from mqframe.client.consuming.push.signature import (
    Refusing,
    callable_signature,
    check_return,
    needed_parameters,
)
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import FixError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.codecs import Codecs

_FORMS: Final = (
    "write `def handle(value)`, `def handle(value, message)` or `def handle(value, message, context)`,"
    " and annotate the value with its type"
)

TypedHandler = Callable[..., ConsumeResult | Coroutine[Any, Any, ConsumeResult | None] | None]
"""Takes the value in a message's body, alone or with the message, or with the message and the context: the
listener of a topic that was subscribed with `type` or `codec`. Returns and raises as a `Handler` does."""


WRAPS: Final = "__mqframe_wraps__"
"""Attribute of a decorator's function around a listener: "handler", which is always handed the message
besides the value, or "listener", which takes several messages."""


@attrs.frozen
class BodyType:
    """What a topic is subscribed for: values of `type`, which `None` leaves to the handler's annotation."""

    type: Any
    codecs: Codecs


@attrs.frozen
class TypedForm:
    """How a typed handler is called: with how many arguments, the first of which is a `type`."""

    count: int
    type: Any
    codecs: Codecs

    def arguments(self, message: ReceivedMessage, context: object) -> tuple[Any, ...]:
        """What the handler is called with. Raises `DecodeError`, and what choosing the codec raises."""
        value = message.decode(self.type, self.codecs.of(message))
        return (value, message, context)[: self.count]


def typed_form(function: Callable[..., Any], topic: str, body: BodyType) -> TypedForm:
    """How `function` is called with values. Raises `FixError` for what cannot take them."""
    refuse = Refusing(function, topic)
    wraps = getattr(function, WRAPS, "")
    if wraps == "listener":
        raise refuse(f"takes several messages, and the topic is subscribed with type or codec; {_FORMS}")
    found = callable_signature(function, refuse)
    needed, keyword = needed_parameters(found)
    if keyword:
        raise refuse(f"needs the keyword argument {keyword!r}, which nobody gives; {_FORMS}")
    if not 1 <= len(needed) <= 3:
        names = ", ".join(each.name for each in needed)
        raise refuse(f"needs {len(needed)} arguments{f' ({names})' if names else ''}; {_FORMS}")
    first, *others = [resolved(each.annotation, function) for each in needed]
    if is_message(first):
        raise refuse(
            f"takes a message, and the topic is subscribed with type or codec; leave both out, or {_FORMS}"
        )
    if others and not _may_be_message(others[0]):
        shown = getattr(others[0], "__name__", others[0])
        raise refuse(f"takes a {shown} as its second argument, which is the message; {_FORMS}")
    check_return(function, found, refuse, is_batch=False)
    kind = body.type
    if kind is None:
        kind = Any if first is inspect.Parameter.empty else first
    if isinstance(kind, str):
        raise refuse(f"takes a {kind}, and there is no such name where it was written; hand in `type`")
    codecs = body.codecs
    try:
        codecs.of_values.check(kind)
    except FixError as problem:
        raise refuse(f"cannot be given its values: {problem}") from problem
    return TypedForm(len(needed) if wraps != "handler" else max(2, len(needed)), kind, codecs)


def typed_call(
    function: Callable[..., Any], form: TypedForm, *, is_async: bool
) -> Callable[[list[ReceivedMessage], Any], Any]:
    """`function`, called with a batch of one message: with the value in it, where `None` means success."""
    success = ConsumeResult.SUCCESS

    async def handle_async(messages: list[ReceivedMessage], context: Any) -> Any:
        (message,) = messages
        result = await function(*form.arguments(message, context))
        return success if result is None else result

    def handle(messages: list[ReceivedMessage], context: Any) -> Any:
        (message,) = messages
        result = function(*form.arguments(message, context))
        return success if result is None else result

    return handle_async if is_async else handle


def _may_be_message(annotation: Any) -> bool:
    unknown = annotation in (inspect.Parameter.empty, Any, object) or isinstance(annotation, str)
    return unknown or is_message(annotation)
