"""Bodies for people and programs: text where they are text, else base64, and always which of the two."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec
import typer

from mqframe.core.errors import BodyUnreadable
from mqframe.hooks.installed import by_name, entry_points

if TYPE_CHECKING:
    from mqframe import Admin
    from mqframe.core.messages.message import ReceivedMessage

Base64 = Annotated[bool, typer.Option("--base64", help="Write all bodies in base64.")]
DECODERS_GROUP: Final = "mqframe.bodies"
"""Entry points of distributions that know more of bodies: what makes a `BodyDecoder` of an `Admin`."""
TEXT: Final = "text"
BASE64: Final = "base64"
UNREADABLE: Final = "unreadable"
"""In base64, as it is stored: it cannot be unpacked."""


class BodyDecoder(Protocol):
    """Knows what is in some bodies that are no text."""

    def value(self, message: ReceivedMessage) -> Any:
        """What is in the body of `message`, as JSON has it; `None` where this does not know."""


def body_decoders(admin: Admin) -> list[BodyDecoder]:
    """Those of all distributions that are installed. `admin` has to stay open while they are used."""
    return [each.load()(admin) for each in by_name(entry_points(group=DECODERS_GROUP)).values()]


def decoded(message: ReceivedMessage, decoders: Sequence[BodyDecoder]) -> Any:
    """What one of `decoders` knows to be in the body of `message`; `None`: none does."""
    return next(filter(lambda value: value is not None, (each.value(message) for each in decoders)), None)


def decoded_line(value: Any) -> str:
    """A decoded body for one line of text: JSON."""
    return msgspec.json.encode(value, enc_hook=str).decode()


def body_columns(message: ReceivedMessage, *, base64: bool = False) -> dict[str, str]:
    """`body_encoding`, and `body`: "text", "base64", or "unreadable".

    A body that is no UTF-8 is in base64, all are with `base64`; one that cannot be unpacked is shown as it is
    stored, in base64.
    """
    try:
        body = message.body
    except BodyUnreadable:
        return {"body_encoding": UNREADABLE, "body": b64encode(message.stored_body).decode()}
    if not base64:
        try:
            return {"body_encoding": TEXT, "body": body.decode()}
        except UnicodeDecodeError:
            pass
    return {"body_encoding": BASE64, "body": b64encode(body).decode()}


def body_line(message: ReceivedMessage, *, base64: bool = False) -> str:
    r"""A body for one line of text: what is no UTF-8 as \x escapes, or all in `base64`."""
    columns = body_columns(message, base64=base64)
    if base64 or columns["body_encoding"] != BASE64:
        return columns["body"]
    return message.body.decode("utf-8", "backslashreplace")
