"""Errors that applications meet, and those about a handler's arguments, told from what it raises itself."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from fast_depends.exceptions import ValidationError
from fast_depends.library.serializer import OptionItem, Serializer, SerializerProto
from faststream.exceptions import SetupError

from mqframe import DecodeError, FixError, GiveUpError, ReceivedMessage, RequestTimeout

_last: ContextVar[Exception | None] = ContextVar("the last error about arguments", default=None)


def is_of_arguments(problem: Exception) -> bool:
    """Whether `problem` came up in this task because arguments of a handler, or of what it depends on, are
    not what they are annotated as: so the message is wrong, and stays so."""
    last = _last.get()
    _last.set(None)  # with its traceback it holds all that was on its way
    return last is problem


def undecodable(message: ReceivedMessage, problem: Exception) -> DecodeError:
    """That `message` has such a body, and why: `problem` is FastStream's, or that of a decoder.

    Nothing of the body is in it, as it gets into logs and into the dead letter.
    """
    what, path = _told(problem.original_error if isinstance(problem, ValidationError) else problem)
    found = DecodeError(what, path)
    found.codec = "faststream"
    found.topic, found.broker_name = message.topic, message.broker_name
    found.queue_id, found.queue_offset = message.queue_id, message.queue_offset
    return found


def _told(problem: Exception) -> tuple[str, str]:
    """What is wrong, and where in the value, as far as serializers say so without quoting it."""
    errors: Any = getattr(problem, "errors", None)  # pydantic's
    if callable(errors):
        first = errors(include_url=False, include_context=False, include_input=False)[0]
        return str(first["msg"]), ".".join(map(str, first["loc"]))
    if type(problem).__module__.partition(".")[0] == "msgspec":
        return str(problem), ""
    return f"decoding failed with {type(problem).__name__}", ""


class NotingSerializer(SerializerProto):
    """Makes what checks arguments, by `inner`, so that `is_of_arguments` knows its errors."""

    def __init__(self, inner: SerializerProto) -> None:
        self._inner = inner
        self.encode = inner.encode  # type: ignore[method-assign]

    def __call__(self, *, name: str, options: list[OptionItem], response_type: Any) -> Serializer:
        """As of fast_depends."""
        return _Noting(self._inner(name=name, options=options, response_type=response_type))


class _Noting(Serializer):
    def __init__(self, inner: Serializer) -> None:
        self._inner = inner
        self.name, self.options, self.response_option = inner.name, inner.options, inner.response_option

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # such as its model, which documents are made from

    def get_aliases(self) -> tuple[str, ...]:
        return self._inner.get_aliases()

    def __call__(self, call_kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._inner(call_kwargs)
        except Exception as problem:  # re-raised: the serializer is anybody's
            _last.set(problem)
            raise

    def response(self, value: Any) -> Any:
        return self._inner.response(value)


class RequestRejected(GiveUpError):
    """The handler of a request made a dead letter of it: no reply will come. Who asked is told so."""


REJECTED = "its handler rejected it"
"""What is said of such a request."""


class OptionError(FixError, SetupError):
    """Options of a broker, subscriber or publisher that make no sense, alone or together."""


class ReplyTimeout(RequestTimeout, TimeoutError):
    """No reply to a request came in time. The handler may or may not have worked on it."""
