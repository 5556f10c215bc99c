r"""Lines as a user wants them: `--format "%o %k %s\n"`, with the letters that users of kcat and rpk know."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from mqframe.core.errors import BodyUnreadable, SettingError
from mqframe.core.printable import printable, shortened
from mqframe_cli.output import cell_text, time_text

if TYPE_CHECKING:
    from mqframe.core.messages.message import ReceivedMessage


class LineField(NamedTuple):
    """What a letter stands for. `text`: of a message; the body is handed over by whoever writes it."""

    meaning: str
    text: Callable[[ReceivedMessage], str]


def _body_size(message: ReceivedMessage) -> str:
    try:
        return str(len(message.body))
    except BodyUnreadable:
        return str(len(message.stored_body))


BODY: Final = "s"
FIELDS: Final[Mapping[str, LineField]] = {
    "t": LineField("topic", lambda message: message.topic),
    "b": LineField("broker", lambda message: message.broker_name),
    "p": LineField("queue id", lambda message: str(message.queue_id)),
    "o": LineField("offset", lambda message: str(message.queue_offset)),
    "i": LineField("message id", lambda message: message.message_id),
    "g": LineField("tag", lambda message: message.tag or ""),
    "k": LineField("keys", lambda message: " ".join(message.keys)),
    BODY: LineField("body", lambda message: ""),
    "S": LineField("bytes of the body", _body_size),
    "h": LineField(
        "properties, or %h{NAME} one of them",
        lambda message: ",".join(f"{name}={value}" for name, value in message.properties.items()),
    ),
    "T": LineField("ms since 1970 when it was stored", lambda message: str(message.store_timestamp)),
    "d": LineField(
        "that as a time with its zone", lambda message: cell_text(time_text(message.store_timestamp))
    ),
    "%": LineField("a percent sign", lambda message: "%"),
}
"""By letter, in the order in which messages list them."""
_ESCAPES: Final[Mapping[str, bytes]] = {"n": b"\n", "t": b"\t", "r": b"\r", "\\": b"\\"}
_PARTS: Final = re.compile(
    r"%(?:h\{(?P<name>[^}]*)\}|(?P<field>.?))|\\(?P<escape>x[0-9a-fA-F]{2}|.?)|(?P<words>[^%\\]+)", re.DOTALL
)
_SHOWN: Final = 100

Part = bytes | Callable[["ReceivedMessage"], str] | None
"""What stands in each line, what is asked of each message, or (`None`) its body."""


class LineFormat:
    r"""A format of lines: letters behind %, and the escapes \n, \t, \r, \\ and \xHH.

    Raises `SettingError` for letters and escapes that are none, with those that there are.
    """

    def __init__(self, text: str) -> None:
        self._parts = [_part(found, text) for found in _PARTS.finditer(text)]

    def line(self, message: ReceivedMessage, body: bytes, *, for_people: bool) -> bytes:
        """`message`, whose body is shown as `body`, as the format says; nothing is added.

        `for_people`: what comes from the message is harmless for terminals, all in one line.
        """
        written = []
        for each in self._parts:
            if isinstance(each, bytes):
                written.append(each)
                continue
            found = body if each is None else each(message).encode("utf-8", "backslashreplace")
            if for_people:
                found = printable(found.decode("utf-8", "backslashreplace")).encode()
            written.append(found)
        return b"".join(written)


def _part(found: re.Match[str], whole: str) -> Part:
    name, field, escape, words = found.group("name", "field", "escape", "words")
    if name is not None:
        return lambda message: message.properties.get(name, "")
    if field is not None:
        if field not in FIELDS:
            known = ", ".join(f"%{letter} {each.meaning}" for letter, each in FIELDS.items())
            raise SettingError(
                f"--format {shortened(whole, _SHOWN)}: %{field} is no field; known are {known}"
            )
        return None if field == BODY else FIELDS[field].text
    if escape is None:
        return str(words).encode("utf-8", "surrogateescape")
    if len(escape) == 3:
        return bytes.fromhex(escape[1:])
    if escape not in _ESCAPES:
        raise SettingError(
            f"--format {shortened(whole, _SHOWN)}: \\{escape} is no escape; known are \\n, \\t, \\r, \\\\ and"
            " \\xHH"
        )
    return _ESCAPES[escape]
