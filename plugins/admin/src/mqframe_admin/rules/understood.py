"""Requests that a server would pass over in part, as it is older than what they ask."""

from __future__ import annotations

import msgspec

from mqframe.core.errors import FixError
from mqframe.core.parameters import needed
from mqframe.core.versions import version_number, version_text


def check_understood(sent: msgspec.Struct, version: int, address: str) -> None:
    """Raise `FixError` where the server at `address` would pass over what `sent` asks.

    `version`: of its protocol, as it states; 0, none, is older than any.
    """
    for parameter in needed(sent):
        since = parameter.since.version
        if version < version_number(since):
            value = getattr(sent, parameter.name)
            raise FixError(
                f"{parameter.wire_name}={_shown(value)} of {type(sent).__name__} is understood from Apache "
                f"RocketMQ {since} on, and {address} is {version_text(version)}, which would pass over it; "
                "nothing was sent"
            )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
