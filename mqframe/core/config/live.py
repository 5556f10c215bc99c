"""Settings of a running server as `key=value` lines under RocketMQ's names: how they are shown and changed.

A setting says by `setting(live=True)` that it takes effect without a restart.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, TypeVar, cast

import attrs

from mqframe.core.config.field_types import convert, field_types
from mqframe.core.errors import FixedSetting, SettingError

S = TypeVar("S")
LINES_CHARS_MAX: Final = 64 * 1024
"""Longest text of changes of settings."""


def changed(settings: S, lines: str, protected: Collection[str] = ()) -> tuple[S, set[str]]:
    """`settings` with the values in `lines`, all or none, and the names of the fields that are named there.

    `protected`: keys of RocketMQ that are no settings here, and that only a restart would change. Raises
    `SettingError` for an unknown key or a bad value, `FixedSetting` for what only a restart changes.
    """
    types = field_types(type(settings))
    fields = {field.metadata["conf"]: field for field in _fields(type(settings))}
    changes: dict[str, Any] = {}
    fixed = []
    if len(lines) > LINES_CHARS_MAX:
        raise SettingError(f"{len(lines)} characters of settings; at most {LINES_CHARS_MAX} are read")
    for line in map(str.strip, lines.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, _, text = (part.strip() for part in line.partition("="))
        field = fields.get(key)
        if field is None and key not in protected:
            section = cast("Any", settings).SECTION
            raise SettingError(f"{key} is not a setting of this {section}")
        if field is None or not field.metadata["live"]:
            fixed.append(key)
        if field is not None:
            try:
                changes[field.name] = convert(text, types[field.name])
            except ValueError as problem:
                raise SettingError(f"{key}={text}: {problem}") from None
    made = attrs.evolve(cast("Any", settings), **changes)
    if fixed:
        raise FixedSetting(f"{', '.join(fixed)} can only be changed by a restart")
    return cast("S", made), set(changes)


def as_lines(*groups: object) -> str:
    """All fields of the settings objects that have a RocketMQ name, as `key=value` lines under it."""
    return "".join(
        f"{field.metadata['conf']}={_text(getattr(group, field.name))}\n"
        for group in groups
        for field in _fields(type(group))
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(cls: type[Any]) -> list[attrs.Attribute[Any]]:
    return [field for field in attrs.fields(cls) if field.metadata.get("conf")]
