"""Messages to send, written as JSON lines; those that `consume --json` and `topic tail --json` write, too."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs
import msgspec

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixError, MessageError, SettingError
from mqframe.core.messages.message import Message
from mqframe.core.messages.properties import RESERVED, SHARDING_KEY
from mqframe.core.moments import read_moment
from mqframe_cli.later import parse_delay, typed_ms

_UNKNOWN: Final = re.compile(r"unknown field `([^`]*)`")


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """One line. `delay`: "90s", or seconds; `deliver_at`: "2026-12-24T18:00+01:00", or ms since 1970.

    What only describes a message that was read (`message_id` and those behind it) is not sent.
    """

    body: str
    body_encoding: Literal["text", "base64"] = "text"
    tag: str | None = None
    key: str | None = None
    keys: list[str] = []
    properties: dict[str, str] = {}
    sharding_key: str | None = None
    delay: str | float | None = None
    deliver_at: str | int | None = None
    delay_level: int | None = None
    message_id: str = ""
    topic: str = ""
    broker: str = ""
    queue: int = 0
    offset: int = 0
    stored: str = ""


@attrs.frozen
class Outgoing:
    """A message to send. `later`: arguments of `Producer.send` that say when it is to be delivered."""

    message: Message
    sharding_key: str | None = None
    later: Mapping[str, Any] = {}


def property_of(text: str) -> tuple[str, str]:
    """Name and value of an option `--property name=value`. Raises `SettingError`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"--property {text}: must be written name=value")
    return name, value


def later_wishes(
    delay: str | float | None,
    deliver_at: str | int | None,
    level: int | None,
    moment: Callable[[str, str], int] = typed_ms,
) -> dict[str, Any]:
    """What was said of a later delivery, as arguments of `Producer.send`. Raises `FixError`.

    `moment(option, text)`: how a time is read; by default as one that a person typed.
    """
    wishes: dict[str, Any] = {}
    if delay is not None:
        wishes["delay"] = parse_delay(str(delay))
    if deliver_at is not None:
        wishes["deliver_at"] = moment("--deliver-at", str(deliver_at))
    if level is not None:
        wishes["delay_level"] = level
    return wishes


def outgoing_of(line: bytes, number: int, default: Outgoing) -> Outgoing:
    """What line `number` asks for; of what it does not say, `default` counts.

    Properties that only brokers and clients set are left out of messages that were read. Raises
    `MessageError`.
    """
    try:
        found = msgspec.json.decode(line, type=Line)
        body = (
            b64decode(found.body, validate=True) if found.body_encoding == "base64" else found.body.encode()
        )
        later = later_wishes(found.delay, found.deliver_at, found.delay_level, _of_a_program)
    except (msgspec.MsgspecError, ValueError, RecursionError, FixError) as problem:
        raise MessageError(f"line {number}: {problem}{_meant(str(problem))}") from None
    said = found.properties
    if found.message_id:
        said = {name: value for name, value in said.items() if name not in RESERVED}
    keys = [*([found.key] if found.key else []), *found.keys]
    message = Message(
        default.message.topic,
        body,
        found.tag if found.tag is not None else default.message.tag,
        keys or default.message.keys,
        {**default.message.properties, **said},
    )
    copied = found.properties.get(SHARDING_KEY) if found.message_id else None
    sharding_key = found.sharding_key or copied or default.sharding_key
    return Outgoing(message, sharding_key, later or default.later)


def _of_a_program(option: str, text: str) -> int:
    return read_moment(text, "deliver_at")


def _meant(problem: str) -> str:
    unknown = _UNKNOWN.search(problem)
    near = did_you_mean(unknown[1], Line.__struct_fields__) if unknown else ""
    return f"; {near}" if near else ""
