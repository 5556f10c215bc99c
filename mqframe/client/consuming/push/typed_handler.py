"""Handlers that take the value in a message's body instead of the message."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import attrs

from mqframe.client.consuming.push.annotations import is_message, is_value, may_be_truth, resolved
from mqframe.client.consuming.push.signature import Refusing, callable_signature, needed_parameters
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import FixError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.typed import encoded
from mqframe.core.sending.request_reply import ReplyMessage, is_request, reply_to
from mqframe.hooks.codecs import Codecs

_FORMS: Final = (
    "write `def handle(value)`, `def handle(value, message)` or `def handle(value, message, context)`,"
    " and annotate the value with its type"
)

# Asked for with every message; in Python 3.11 the class takes longer than all else here.
_SUCCESS: Final = ConsumeResult.SUCCESS

TypedHandler = Callable[..., Any]
"""Takes the value in a message's body, alone or with the message, or with the message and the context: the
listener of a topic that was subscribed with `type` or `codec`. Returns and raises as a `Handler` does; any
other value that it returns is the reply, where the message is a request."""


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
    """How a typed handler is called: with how many arguments, the first of which is a `type`.

    `replies`: it is annotated to return a value.
    """

    count: int
    type: Any
    codecs: Codecs
    replies: bool = False

    def arguments(self, message: ReceivedMessage, context: object) -> tuple[Any, ...]:
        """What the handler is called with. Raises `DecodeError`, and what choosing the codec raises."""
        value = message.decode(self.type, self.codecs.of(message))
        return (value, message, context)[: self.count]

    def result(self, returned: Any, message: ReceivedMessage) -> Any:
        """What `returned` means: a `ConsumeResult`, or the reply to `message`. Raises `EncodeError`.

        A value for a message that is no request is ignored, where the handler is annotated to return one;
        else it stays as it is, which is no result.
        """
        if returned is None:
            return _SUCCESS
        if isinstance(returned, ConsumeResult | ReplyMessage) or inspect.isawaitable(returned):
            return returned
        if is_request(message):
            body, said = encoded(self.codecs.of(message), returned, {})
            return reply_to(message, body, properties=said)
        return ConsumeResult.SUCCESS if self.replies else returned


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
    returns = resolved(found.return_annotation, function)
    if may_be_truth(returns):
        raise refuse(
            "is annotated to return a bool, which may be meant as done or failed as well as a reply; return"
            " None or a ConsumeResult, raise, or reply with a value that says what it is"
        )
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
    count = len(needed) if wraps != "handler" else max(2, len(needed))
    return TypedForm(count, kind, codecs, is_value(returns))


def typed_call(
    function: Callable[..., Any], form: TypedForm, *, is_async: bool
) -> Callable[[list[ReceivedMessage], Any], Any]:
    """`function`, called with a batch of one message: with the value in it, where `None` means success, and
    other values are replies."""

    async def handle_async(messages: list[ReceivedMessage], context: Any) -> Any:
        (message,) = messages
        return form.result(await function(*form.arguments(message, context)), message)

    def handle(messages: list[ReceivedMessage], context: Any) -> Any:
        (message,) = messages
        return form.result(function(*form.arguments(message, context)), message)

    return handle_async if is_async else handle


def _may_be_message(annotation: Any) -> bool:
    unknown = annotation in (inspect.Parameter.empty, Any, object) or isinstance(annotation, str)
    return unknown or is_message(annotation)
