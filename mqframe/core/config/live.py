"""Settings of a running server as `key=value` lines under RocketMQ's names: how they are shown and changed.

A setting says by `setting(live=True)` that it takes effect without a restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from mqframe.core.config.field_types import convert, field_types
from mqframe.core.config.rocketmq_keys import ROCKETMQ_KEYS
from mqframe.core.errors import FixedSetting, SettingError
from mqframe.core.wire.bodies import Body

LINES_CHARS_MAX: Final = 64 * 1024
"""Longest text of changes of settings."""
CHANGED_SETTINGS: Final = "changedSettings.json"
"""The file of `ChangedSettings`, in the directory of a server's other tables."""
NOTHING_MORE: Final[Mapping[str, str]] = {}


class ChangedSettings(Body):
    """What operators changed while a server ran, as text by RocketMQ's keys."""

    settings: dict[str, str] = {}


def changed(
    groups: Sequence[Any], lines: str, protected: Collection[str] = ()
) -> tuple[list[Any], dict[str, str]]:
    """The settings objects `groups` with the values in `lines`, all or none, and those values by key.

    `protected`: keys of RocketMQ that are no settings here, and that only a restart would change. Raises
    `SettingError` for an unknown key or a bad value, `FixedSetting` for what only a restart changes.
    """
    fields = {
        field.metadata["conf"]: (at, field) for at, group in enumerate(groups) for field in _fields(group)
    }
    types = [field_types(type(group)) for group in groups]
    changes: list[dict[str, Any]] = [{} for _ in groups]
    texts: dict[str, str] = {}
    fixed = []
    if len(lines) > LINES_CHARS_MAX:
        raise SettingError(f"{len(lines)} characters of settings; at most {LINES_CHARS_MAX} are read")
    for line in map(str.strip, lines.splitlines()):
        if not line or line.startswith("#"):
            continue
        key, _, text = (part.strip() for part in line.partition("="))
        if key not in fields:
            if key not in protected:
                raise _unknown(key, groups[0].SECTION)
            fixed.append(key)
            continue
        at, field = fields[key]
        if not field.metadata["live"]:
            fixed.append(key)
        try:
            changes[at][field.name] = convert(text, types[at][field.name])
        except ValueError as problem:
            raise SettingError(f"{key}={text}: {problem}") from None
        texts[key] = text
    made = [attrs.evolve(group, **values) for group, values in zip(groups, changes, strict=True)]
    if fixed:
        raise FixedSetting(f"{', '.join(fixed)} can only be changed by a restart")
    return made, texts


def kept(groups: Sequence[Any], changes: ChangedSettings) -> tuple[list[Any], dict[str, str], list[str]]:
    """`groups` with the changes of an earlier run, those that could be made, and why others could not.

    A key may have gone, or be changed by a restart alone, or take other values, in the version that runs now.
    """
    taken: dict[str, str] = {}
    lost: list[str] = []
    for key, text in changes.settings.items():
        try:
            groups, made = changed(groups, f"{key}={text}")
        except SettingError as problem:
            lost.append(str(problem))
        else:
            taken |= made
    return list(groups), taken, lost


def as_lines(*groups: object, more: Mapping[str, str] = NOTHING_MORE) -> str:
    """All fields of the settings objects that have a RocketMQ name, as `key=value` lines under it.

    `more`: values of further keys, and of those for which something else is true than was configured.
    """
    texts = {
        field.metadata["conf"]: _text(getattr(group, field.name))
        for group in groups
        for field in _fields(group)
    }
    return "".join(f"{key}={text}\n" for key, text in {**texts, **more}.items())


def origins_of(groups: Sequence[Any], origins: Mapping[str, str]) -> dict[str, str]:
    """What `origins` says by path ("store.flush") of the fields of `groups`, by their RocketMQ names."""
    return {
        field.metadata["conf"]: origins[path]
        for group in groups
        for field in _fields(group)
        if (path := f"{group.SECTION}.{field.name}") in origins
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(group: object) -> list[attrs.Attribute[Any]]:
    return [field for field in attrs.fields(cast("Any", type(group))) if field.metadata.get("conf")]


def _unknown(key: str, section: str) -> SettingError:
    if key in ROCKETMQ_KEYS:
        return SettingError(f"{key} has no effect on a {section} of mqframe")
    return SettingError(f"{key} is not a setting of this {section}")
