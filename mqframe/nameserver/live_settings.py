"""The settings of a running name server as `key=value` lines, read and changed by requests 319 and 318."""

from __future__ import annotations

from typing import Any, cast

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, SettingError
from mqframe.nameserver.settings import NameServerSettings

_FIELDS = attrs.fields(cast("Any", NameServerSettings))
FIXED = frozenset(
    {"bindAddress", "listenPort", "configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}
)
"""Keys that only a restart changes."""


def as_lines(settings: NameServerSettings) -> str:
    """All settings under the names that a RocketMQ configuration has for them."""
    lines = []
    for field in _FIELDS:
        key = field.metadata["conf"]
        if key:
            value = getattr(settings, field.name)
            lines.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
    return "".join(f"{line}\n" for line in lines)


def changed(settings: NameServerSettings, lines: str) -> NameServerSettings:
    """`settings` with the values in `lines`.

    Raises `Refusal`: 16 for a key that may not be changed, 1 for an unknown key or a bad value.
    """
    fields = {field.metadata["conf"]: field for field in _FIELDS}
    changes: dict[str, Any] = {}
    for line in map(str.strip, lines.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, _, text = (part.strip() for part in line.partition("="))
        if key in FIXED:
            raise Refusal(ResponseCode.NO_PERMISSION, f"{key} can only be changed by a restart")
        if key not in fields:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"{key} is not a setting of this name server")
        changes[fields[key].name] = _parse(key, text, type(fields[key].default))
    try:
        return cast("NameServerSettings", attrs.evolve(cast("Any", settings), **changes))
    except SettingError as problem:
        raise Refusal(ResponseCode.SYSTEM_ERROR, str(problem)) from None


def _parse(key: str, text: str, kind: type) -> Any:
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if kind is not bool:
            return kind(text)
    except ValueError:
        pass
    raise Refusal(ResponseCode.SYSTEM_ERROR, f"{key}={text}: not a {kind.__name__}")
