"""What kind of function an application handed in: a handler of one message, or a listener for a batch.

It is looked at once, when a topic is subscribed, so that what can never work is refused there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from mqframe.client.consuming.push.annotations import (
    is_message,
    is_sequence,
    may_be_result,
    resolved,
    signature_of,
)
from mqframe.core.errors import FixError

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FORMS: Final = (
    "write `def handle(message)`, which takes one message and returns nothing when it is done,"
    " or `def listen(messages, context)`, which returns a ConsumeResult"
)


class ListenerKind(Enum):
    """How a function is called: with a message, a message and its context, or a batch and its context."""

    HANDLER = "handler"
    CONTEXT_HANDLER = "handler with context"
    BATCH = "batch listener"


def function_name(function: object) -> str:
    """Module and name of `function` for messages; of an object that is called, those of its class."""
    inner = getattr(function, "func", None)  # functools.partial
    if inner is not None and not hasattr(function, "__qualname__"):
        return f"partial of {function_name(inner)}"
    named = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(named, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(named, '__qualname__', '?')}"


def is_coroutine_function(function: object) -> bool:
    """Whether a call of `function` gives something to await: it is an `async def`, or an object that has one
    for its call."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_call_of(function))


def kind_of(function: Callable[..., Any], topic: str) -> ListenerKind:
    """The kind of `function`, which is to listen to `topic`. Raises `FixError` for what cannot listen."""
    refuse = Refusing(function, topic)
    found = callable_signature(function, refuse)
    kind, problem = _kind_by_parameters(function, found)
    if kind is None:
        raise refuse(problem)
    check_return(function, found, refuse, is_batch=kind is ListenerKind.BATCH)
    return kind


class Refusing:
    """Makes the errors about `function`, which is to listen to `topic`."""

    def __init__(self, function: object, topic: str) -> None:
        self._function = function
        self._topic = topic

    def __call__(self, what: str) -> FixError:
        """`what`: the rest of the sentence."""
        return FixError(f"listener {function_name(self._function)} of topic {self._topic} {what}")


def callable_signature(function: Callable[..., Any], refuse: Refusing) -> inspect.Signature:
    """The signature of `function`. Raises `FixError` for what no call of it would run."""
    if inspect.isclass(function):
        raise refuse(f"is a class, which a call would only make an object of; {_FORMS}")
    inner = getattr(function, "func", function)
    for each in (function, inner, _call_of(function)):
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise refuse("is a generator: a call of it runs nothing. Take the `yield` out")
    found = _signature(function)
    if found is None:
        raise refuse(f"does not tell its parameters; {_FORMS}, and call it there")
    return found


def needed_parameters(found: inspect.Signature) -> tuple[list[inspect.Parameter], str]:
    """The parameters that a call by position must fill; and the name of one that no such call can, or ""."""
    parameters = found.parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and _required(each)]
    needed = [each for each in parameters if each.kind in _POSITIONAL and _required(each)]
    return needed, keywords[0] if keywords else ""


def _kind_by_parameters(
    function: Callable[..., Any], found: inspect.Signature
) -> tuple[ListenerKind | None, str]:
    """The kind, or `None` and what is wrong."""
    needed, keyword = needed_parameters(found)
    if keyword:
        return None, f"needs the keyword argument {keyword!r}, which nobody gives; {_FORMS}"
    variadic = any(each.kind is each.VAR_POSITIONAL for each in found.parameters.values())
    names = ", ".join(each.name for each in needed)
    if needed and needed[0].name == "self":
        return None, "is a method without its object; subscribe the method of an object: `obj.method`"
    if not needed and variadic:
        return ListenerKind.BATCH, ""  # a decorator that hands on whatever comes
    if not 1 <= len(needed) <= 2:
        return None, f"needs {len(needed)} arguments{f' ({names})' if names else ''}; {_FORMS}"
    first = resolved(needed[0].annotation, function)
    if len(needed) == 2:
        return (ListenerKind.CONTEXT_HANDLER if is_message(first) else ListenerKind.BATCH), ""
    if is_sequence(first) and not is_message(first):
        name = needed[0].name
        return None, (
            f"takes only {name!r}, and for several messages; add a parameter: `({name}, context)`,"
            f" or take one message: `(message: ReceivedMessage)`"
        )
    return ListenerKind.HANDLER, ""


def check_return(
    function: Callable[..., Any], found: inspect.Signature, refuse: Refusing, *, is_batch: bool
) -> None:
    """Raises `FixError` when `function` is annotated to return what a listener does not."""
    returns = resolved(found.return_annotation, function)
    if may_be_result(returns, none=not is_batch):
        return
    shown = "None" if returns is type(None) else inspect.formatannotation(returns)
    if not is_batch:
        raise refuse(
            f"is annotated to return {shown}; a handler returns None when its message is done, or a"
            " ConsumeResult, and raises when it failed"
        )
    raise refuse(
        f"is annotated to return {shown}; a listener of (messages, context) returns a ConsumeResult: write"
        " `-> ConsumeResult` and return ConsumeResult.SUCCESS, or take one message:"
        " `def handle(message: ReceivedMessage) -> None`"
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Its own; where it hands on whatever comes, that of the function which it wraps."""
    own = signature_of(function, unwrapped=False)
    if own is None or any(each.kind is each.VAR_POSITIONAL for each in own.parameters.values()):
        return signature_of(function) or own
    return own


def _required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _call_of(function: object) -> object:
    return getattr(type(function), "__call__", None)  # noqa: B004 - its kind is asked, not its presence
