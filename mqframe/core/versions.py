"""Versions of brokers: the number in every answer, the name that people know it by, and what came with one.

Source: MQVersion.java, whose ordinals count a snapshot and a release for each version.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.errors import FixError

_FOUR: Final = 213
"""The number of 4.0.0, from which on they are regular."""


def version_text(number: int) -> str:
    """The version that states protocol version `number`, for example "4.9.7"; of old ones the number."""
    if number < _FOUR:
        return f"protocol version {number}"
    count = 400 + (number - _FOUR) // 2
    return f"{count // 100}.{count // 10 % 10}.{count % 10}"


def version_number(text: str) -> int:
    """The protocol version of a release from 4.0.0 on: 413 for "5.0.0"."""
    major, minor, patch = map(int, text.split("."))
    return _FOUR + 2 * (100 * major + 10 * minor + patch - 400)


def check_has(number: int, since: str, what: str, address: str) -> None:
    """Raise `FixError` when the broker at `address`, of protocol version `number`, is older than `since`.

    `what`: who needs it, with the verb. A `number` of 0 is one that is not known, and passes.
    """
    if 0 < number < version_number(since):
        raise FixError(
            f"{what} Apache RocketMQ {since} or later, and {address} is {version_text(number)}; "
            "nothing was sent"
        )
