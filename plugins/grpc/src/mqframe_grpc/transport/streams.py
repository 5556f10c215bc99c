"""The streams of a connection, and what comes on them. Source: RFC 9113, section 5."""

from __future__ import annotations

from typing import NamedTuple

import attrs


@attrs.define(eq=False)
class HttpStream:
    """A stream that a client has opened.

    `room`: bytes that the client takes on it, fewer than none where it has changed its mind; `granted`: bytes
    that the client may send; `half_closed`: whether it sends no more; `missing`: bytes that it said it would
    send, and that did not come yet, `None`: it said nothing.
    """

    number: int
    room: int
    granted: int
    half_closed: bool = False
    missing: int | None = None


class Fields(NamedTuple):
    """A block of header fields: of a request, which opens `stream`, or what a client ends it with.

    `size`: as HTTP/2 counts it, 32 bytes for each field besides its own.
    """

    stream: HttpStream
    fields: list[tuple[str, str]]
    size: int
    opens: bool


class Data(NamedTuple):
    """Bytes that came on `stream`. `size`: with their padding, as windows count them."""

    stream: HttpStream
    content: bytes
    size: int
