"""The settings of a running broker: read by the processors, changed by request 25, shown by request 26."""

from __future__ import annotations

from typing import Any, cast

import attrs

from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal, SettingError
from mqframe.core.field_types import convert, field_types

FIXED = frozenset(
    {
        "name", "cluster", "host", "port", "advertise", "nameservers", "vip_port", "dispatchers", "rpc_hooks",
        "register_interval_ms", "offsets_save_interval_ms", "region", "trace_on", "trace_topic",
        "default_topic_queues",
        "transaction_check_interval_ms",
    }
)  # fmt: skip
"""Fields that only a restart changes."""


class LiveSettings:
    """Holds the settings that are in force now, in `current`."""

    __slots__ = ("current",)

    def __init__(self, settings: BrokerSettings) -> None:
        self.current = settings

    def change(self, lines: str) -> set[str]:
        """Apply `key=value` lines with RocketMQ's names; all or none. Gives the names of the changed fields.

        Raises `Refusal`: 16 for what only a restart changes, 29 for an unknown key or a bad value.
        """
        types = field_types(BrokerSettings)
        fields = {field.metadata["conf"]: field.name for field in _fields(BrokerSettings)}
        changes: dict[str, Any] = {}
        for line in map(str.strip, lines.splitlines()):
            if not line or line.startswith("#"):
                continue
            key, _, text = (part.strip() for part in line.partition("="))
            name = fields.get(key)
            if name is None:
                raise Refusal(ResponseCode.INVALID_PARAMETER, f"{key} is not a setting of this broker")
            if name in FIXED:
                raise Refusal(ResponseCode.NO_PERMISSION, f"{key} can only be changed by a restart")
            try:
                changes[name] = convert(text, types[name])
            except ValueError as problem:
                raise Refusal(ResponseCode.INVALID_PARAMETER, f"{key}={text}: {problem}") from None
        try:
            self.current = attrs.evolve(cast("Any", self.current), **changes)
        except SettingError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        return set(changes)


def as_lines(*groups: object) -> str:
    """All fields of the settings objects that have a RocketMQ name, as `key=value` lines under it."""
    lines = []
    for group in groups:
        for field in _fields(type(group)):
            key = field.metadata.get("conf")
            if key:
                lines.append(f"{key}={_text(getattr(group, field.name))}\n")
    return "".join(lines)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(cls: type[Any]) -> tuple[attrs.Attribute[Any], ...]:
    return cast("tuple[attrs.Attribute[Any], ...]", attrs.fields(cls))
