"""Bodies for people and programs: text where they are text, else base64, and always which of the two."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Annotated, Final

import typer

from mqframe.core.errors import BodyUnreadable

if TYPE_CHECKING:
    from mqframe.core.messages.message import ReceivedMessage

Base64 = Annotated[bool, typer.Option("--base64", help="Write all bodies in base64.")]
TEXT: Final = "text"
BASE64: Final = "base64"
UNREADABLE: Final = "unreadable"
"""In base64, as it is stored: it cannot be unpacked."""


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
