"""What a request kind is made of.

A kind is a class: its code, its header fields with their types and wire names, the header of its answer, and
what the two bodies hold. Decoding, encoding, documentation and tests all come from these classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Final, TypeVar

import msgspec

from mqframe.core.errors import HeaderError
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import UNDECLARED, Needs

Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""A Java int."""
Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A Java long."""


class Header(msgspec.Struct, rename="camel"):
    """Header fields of a request or an answer. On the wire each value is text, in `Frame.ext`."""


class Request(Header):
    """Header fields of one request kind."""

    CODE: ClassVar[int]
    """The request code."""
    ANSWER: ClassVar[type[Header]]
    """Header of the answer."""
    BODY: ClassVar[str] = ""
    """What the request's body holds; empty: there is none."""
    ANSWER_BODY: ClassVar[str] = ""
    """What the answer's body holds."""
    SINCE: ClassVar[str] = ""
    """The first version of Apache RocketMQ's servers that serves it; empty: all from 4.9.0 on.
    Parameters that came later say so themselves (`mqframe.core.parameters`)."""
    NEEDS: ClassVar[Needs] = UNDECLARED
    """What whoever sends it must be allowed to do, and whether it changes what lasts."""
    AT_SLAVES: ClassVar[AtSlaves] = AtSlaves.SERVED
    """What a slave does with it."""
    SAVED: ClassVar[Saved] = Saved.NOTHING
    """What its handler changes in one turn, and what is on disk before its answer leaves."""

    @classmethod
    def has_text_body(cls) -> bool:
        """Whether the request's body is text that its handler takes apart: JSON of a class, or settings."""
        return cls.BODY.isalnum() or cls.BODY == LINES


class GroupQueueRequest(Request):
    """A request about one queue of a topic as a group reads it; its own fields follow these."""

    consumer_group: str
    topic: str
    queue_id: Int


class NoHeader(Header):
    """No fields at all."""


ONLY_OURS: Final = "mqframe"
"""`Request.SINCE` of requests that no server of Apache RocketMQ serves."""

LINES: Final = "key=value lines"
"""`Request.BODY` of requests that carry settings."""

H = TypeVar("H", bound=Header)
R = TypeVar("R", bound=type[Request])

REQUESTS: dict[int, type[Request]] = {}
"""Every request kind that mqframe knows, by code."""


def request(
    code: int,
    answer: type[Header] = NoHeader,
    body: str = "",
    answer_body: str = "",
    *,
    since: str = "",
    needs: Needs = UNDECLARED,
    at_slaves: AtSlaves = AtSlaves.SERVED,
    saved: Saved = Saved.NOTHING,
) -> Any:
    """Class decorator: enter a request kind into the table under its code.

    `needs`: what the sender must be allowed to do where a server asks; by default to change the cluster.
    `at_slaves`: what becomes of it at a broker that copies another one. `saved`: what is on disk before it is
    answered.
    A class whose module is loaded again, as in a notebook, takes the place of the one from before. Raises
    `ValueError` where the code belongs to another class.
    """

    def enter(kind: R) -> R:
        holder = REQUESTS.get(code, kind)
        if (holder.__module__, holder.__qualname__) != (kind.__module__, kind.__qualname__):
            raise ValueError(f"request code {code}: {holder.__name__} and {kind.__name__}")
        kind.CODE, kind.ANSWER, kind.BODY, kind.ANSWER_BODY = code, answer, body, answer_body
        kind.SINCE = since
        kind.NEEDS, kind.AT_SLAVES, kind.SAVED = needs, at_slaves, saved
        REQUESTS[code] = kind
        return kind

    return enter


def decode_fields(ext: Mapping[str, str] | None, kind: type[H]) -> H:
    """The fields of `kind` from a frame's `ext`; others are ignored.

    Raises `HeaderError` naming the kind and the field that is missing, of the wrong type or out of range.
    """
    try:
        return msgspec.convert(ext or {}, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise HeaderError(f"{kind.__name__}: {problem}") from None


@cache
def _reader(kind: type[Header]) -> tuple[tuple[str, ...], Callable[[Header], tuple[Any, ...]]]:
    """The wire names of `kind`, and what reads the values of all its fields at once."""
    names, wire_names = kind.__struct_fields__, kind.__struct_encode_fields__
    if len(names) > 1:
        return wire_names, attrgetter(*names)
    return wire_names, lambda header: tuple(getattr(header, name) for name in names)


def encode_fields(header: Header) -> dict[str, str]:
    """`header` as a frame's `ext`: every value as text, what is None left out."""
    ext = {}
    wire_names, read = _reader(header.__class__)
    for wire_name, value in zip(wire_names, read(header), strict=True):
        if value.__class__ is str:
            ext[wire_name] = value
        elif value is None:
            continue
        elif value is True:
            ext[wire_name] = "true"
        elif value is False:
            ext[wire_name] = "false"
        else:
            ext[wire_name] = str(value)
    return ext
