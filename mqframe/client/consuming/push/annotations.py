"""What the annotations of a listener say, as far as they can be read."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import ReceivedMessage

_SEQUENCES: typing.Final = ("list", "List", "Sequence", "Iterable", "Collection", "tuple", "Tuple")


def signature_of(function: Callable[..., Any], *, unwrapped: bool = True) -> inspect.Signature | None:
    """The signature of `function`, `None` where it has none that can be read (some builtins).

    `unwrapped`: that of the function which a decorator says that it wraps.
    """
    try:
        if sys.version_info >= (3, 14):
            import annotationlib

            return inspect.signature(
                function, follow_wrapped=unwrapped, annotation_format=annotationlib.Format.FORWARDREF
            )
        return inspect.signature(function, follow_wrapped=unwrapped)
    except Exception:  # descriptors and __signature__ are the application's, and may raise anything
        return None


def resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """What `annotation` of `function` means; a text that cannot be resolved stays as it is."""
    annotation = getattr(annotation, "__forward_arg__", annotation)
    if not isinstance(annotation, str):
        return annotation
    plain = inspect.unwrap(function)
    plain = getattr(plain, "func", plain)
    plain = getattr(plain, "__func__", plain)
    if not hasattr(plain, "__globals__"):
        plain = getattr(type(plain), "__call__", plain)  # noqa: B004 - its code is asked for
    try:
        near = dict(inspect.getclosurevars(plain).nonlocals)
        carrier = types.SimpleNamespace(__annotations__={"it": annotation})
        hints = typing.get_type_hints(carrier, getattr(plain, "__globals__", {}), near, include_extras=True)
        return hints["it"]
    except Exception:  # a name that exists for type checkers only, or no expression at all
        return annotation


def is_message(annotation: Any) -> bool:
    """Whether it means one received message."""
    return any(_is_message(arm) for arm in _arms(annotation))


def _is_message(arm: Any) -> bool:
    if isinstance(arm, str):
        return arm.rpartition(".")[2] == ReceivedMessage.__name__
    return isinstance(arm, type) and issubclass(arm, ReceivedMessage)


def is_sequence(annotation: Any) -> bool:
    """Whether it means several messages."""
    return any(_is_sequence(arm) for arm in _arms(annotation))


def _is_sequence(arm: Any) -> bool:
    if isinstance(arm, str):
        return arm.partition("[")[0].strip().rpartition(".")[2] in _SEQUENCES
    origin = typing.get_origin(arm) or arm
    if not isinstance(origin, type) or issubclass(origin, str | bytes):
        return False
    return issubclass(origin, collections.abc.Iterable) and not issubclass(origin, ReceivedMessage)


def may_be_result(annotation: Any, *, none: bool) -> bool:
    """Whether what is annotated so can be a `ConsumeResult`; with `none`, or `None`.

    What is not understood can.
    """
    return any(_may_be_result(arm, none) for arm in _arms(annotation))


def is_value(annotation: Any) -> bool:
    """Whether what is annotated so can be a value to reply with: no `ConsumeResult` and not `None`.

    What is not understood is none.
    """
    return any(not _may_be_result(arm, none=True) for arm in _arms(annotation))


def may_be_truth(annotation: Any) -> bool:
    """Whether it is, or may be, a bool."""
    return any(arm in (bool, "bool") for arm in _arms(annotation))


def _may_be_result(arm: Any, none: bool) -> bool:
    if arm is None or arm is type(None) or arm == "None":
        return none
    if typing.get_origin(arm) is typing.Literal:
        found = typing.get_args(arm)
        return any(isinstance(each, ConsumeResult) or (none and each is None) for each in found)
    origin = typing.get_origin(arm) or arm
    if origin in (Any, inspect.Signature.empty) or not isinstance(origin, type):
        return True
    try:
        return issubclass(origin, ConsumeResult) or issubclass(ConsumeResult, origin)
    except TypeError:  # a protocol that knows no instances
        return True


def _arms(annotation: Any) -> Iterator[Any]:
    """The members of a union, or what there is alone; without `Annotated` around."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _arms(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _arms(each)
    elif isinstance(annotation, str) and "|" in annotation:
        for each in annotation.split("|"):
            yield each.strip()
    else:
        yield annotation
