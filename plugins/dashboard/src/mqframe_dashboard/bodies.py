"""Bodies of messages as pages show them: text where they are text, else base64, and always which."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

import attrs

from mqframe.core.errors import BodyUnreadable
from mqframe.core.messages.message import ReceivedMessage

SHOWN_BYTES_MAX: Final = 64 << 10
BEGINNING_BYTES: Final = 120
"""What lists show."""
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r")


@attrs.frozen
class ShownBody:
    """`encoding`: "text", "base64", or "unreadable" (in base64, as it is stored: it cannot be unpacked).

    `size`: bytes of the whole; `cut`: only its beginning is in `text`.
    """

    encoding: str
    text: str
    size: int
    cut: bool


def shown_body(message: ReceivedMessage, most: int = SHOWN_BYTES_MAX) -> ShownBody:
    """The body of `message`, its first `most` bytes."""
    try:
        body, readable = message.body, True
    except BodyUnreadable:
        body, readable = message.stored_body, False
    part, cut = body[:most], len(body) > most
    if readable and not _CONTROLS.intersection(part):
        try:
            # A character may have been cut in two.
            text = part.decode() if not cut else _whole_characters(part)
            return ShownBody("text", text, len(body), cut)
        except UnicodeDecodeError:
            pass
    return ShownBody("base64" if readable else "unreadable", b64encode(part).decode(), len(body), cut)


def _whole_characters(part: bytes) -> str:
    for missing in range(4):
        try:
            return part[: len(part) - missing].decode()
        except UnicodeDecodeError as problem:
            if problem.reason != "unexpected end of data":
                raise
    return part.decode()
