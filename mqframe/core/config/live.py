"""Settings of a running server as `key=value` lines: how they are shown and changed.

Their keys are RocketMQ's; a setting that has none there goes by its path ("greeter.words_max"). Whoever
changes one may write its path, or the one that it had before, in any case. A setting says by
`setting(live=True)` that it takes effect without a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from mqframe.core.config.field_types import convert, field_types
from mqframe.core.config.settings import SECRET, told
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixedSetting, SettingError
from mqframe.core.wire.bodies import Body

LINES_CHARS_MAX: Final = 64 * 1024
"""Longest text of changes of settings."""
CHANGED_SETTINGS: Final = "changedSettings.json"
"""The file of `ChangedSettings`, in the directory of a server's other tables."""
CHANGED: Final = "changed while it ran"
"""How the origin of such a setting begins."""
NOTHING_MORE: Final[Mapping[str, str]] = {}


class ChangedSettings(Body, omit_defaults=True):
    """What operators changed while a server ran, as text by key, and of each when and by whom, for people."""

    settings: dict[str, str] = {}
    notes: dict[str, str] = {}

    def origins(self, file: object) -> dict[str, str]:
        """Where their values come from, by key; `file`: that keeps them."""
        return {key: f"{CHANGED}, {file} {self.notes.get(key, '')}".rstrip() for key in self.settings}


def changed(
    groups: Sequence[Any],
    lines: str,
    protected: Collection[str] = (),
    known: Callable[[], Collection[str]] = tuple,
) -> tuple[list[Any], dict[str, str]]:
    """The settings objects `groups` with the values in `lines`, all or none, and those values by key.

    `protected`: keys of RocketMQ that are no settings here, and that only a restart would change. `known`:
    asked for keys that are settings elsewhere, so that errors may say that they have no effect here. Raises
    `SettingError` for an unknown key or a bad value, `FixedSetting` for what only a restart changes.
    """
    fields = _by_name(groups)
    types = [field_types(type(group)) for group in groups]
    changes: list[dict[str, Any]] = [{} for _ in groups]
    texts: dict[str, str] = {}
    names: dict[str, str] = {}
    fixed = []
    for name, text in _lines(lines):
        if name not in fields:
            if name not in protected:
                raise _unknown(name, groups[0].SECTION, known(), fields)
            fixed.append(name)
            continue
        at, field = fields[name]
        if not field.metadata.get("live"):
            fixed.append(name)
        try:
            changes[at][field.name] = convert(text, types[at][field.name])
        except ValueError as problem:
            said = SECRET if field.metadata.get("secret") else text
            raise SettingError(f"{name}={said}: {problem}") from None
        key = key_of(groups[at], field)
        if names.setdefault(key, name) != name and texts[key] != text:
            raise SettingError(f"{names[key]} and {name} are the same setting: leave one of them out")
        texts[key] = text
    made = [attrs.evolve(group, **values) for group, values in zip(groups, changes, strict=True)]
    if fixed:
        raise FixedSetting(f"{', '.join(fixed)} can only be changed by a restart")
    return made, texts


def kept(
    groups: Sequence[Any], changes: ChangedSettings, known: Callable[[], Collection[str]] = tuple
) -> tuple[list[Any], dict[str, str], list[str]]:
    """`groups` with the changes of an earlier run, those that could be made, and why others could not.

    A key may have gone, or be changed by a restart alone, or take other values, in the version that runs now.
    """
    taken: dict[str, str] = {}
    lost: list[str] = []
    for key, text in changes.settings.items():
        try:
            groups, made = changed(groups, f"{key}={text}", known=known)
        except SettingError as problem:
            lost.append(str(problem))
        else:
            taken |= made
    return list(groups), taken, lost


def keys_of(groups: Sequence[Any], names: Iterable[str], known: Callable[[], Collection[str]]) -> set[str]:
    """The keys of the settings of `groups` that `names` mean. Raises `SettingError` for an unknown one."""
    fields = _by_name(groups)
    if unknown := next((name for name in names if name not in fields), None):
        raise _unknown(unknown, groups[0].SECTION, known(), fields)
    return {key_of(groups[at], field) for at, field in map(fields.__getitem__, names)}


def as_lines(*groups: object, more: Mapping[str, str] = NOTHING_MORE) -> str:
    """The fields of the settings objects that RocketMQ has, too, or that are live, as `key=value` lines.

    `more`: values of further keys, and of those for which something else is true than was configured.
    """
    texts = {
        key_of(group, field): as_text(told(field, getattr(group, field.name)))
        for group in groups
        for field in _fields(group)
    }
    return "".join(f"{key}={text}\n" for key, text in {**texts, **more}.items())


def origins_of(groups: Sequence[Any], origins: Mapping[str, str]) -> dict[str, str]:
    """What `origins` says by path ("store.flush") of the fields of `groups`, by their keys."""
    return {
        key_of(group, field): origins[path]
        for group in groups
        for field in attrs.fields(type(group))
        if (path := f"{group.SECTION}.{field.name}") in origins
    }


def key_of(group: Any, field: attrs.Attribute[Any]) -> str:
    """What lines call a setting of `group`: RocketMQ's name of it, else its path."""
    return field.metadata.get("conf") or f"{group.SECTION}.{field.name}"


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each line that has any. Raises `SettingError` for too long a text."""
    if len(text) > LINES_CHARS_MAX:
        raise SettingError(f"{len(text)} characters of settings; at most {LINES_CHARS_MAX} are read")
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith("#"):
            key, _, value = (part.strip() for part in line.partition("="))
            yield key, value


def _by_name(groups: Sequence[Any]) -> dict[str, tuple[int, attrs.Attribute[Any]]]:
    """Each setting, and which of `groups` has it, by all its names."""
    found: dict[str, tuple[int, attrs.Attribute[Any]]] = {}
    for at, group in enumerate(groups):
        for field in attrs.fields(type(group)):
            if field.init:
                names = (
                    field.metadata.get("conf"),
                    *field.metadata.get("was", ()),
                    f"{group.SECTION}.{field.name}",
                )
                found |= dict.fromkeys(filter(None, names), (at, field))
    return found


def as_text(value: object) -> str:
    """A value as lines have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ";".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(group: object) -> list[attrs.Attribute[Any]]:
    """What is shown: what RocketMQ has, too, and what can be changed."""
    fields = attrs.fields(cast("Any", type(group)))
    return [field for field in fields if field.metadata.get("conf") or field.metadata.get("live")]


def _unknown(key: str, section: str, known: Collection[str], there: Iterable[str]) -> SettingError:
    if key in known:
        return SettingError(f"{key} has no effect on a {section} of mqframe")
    return SettingError(f"{key} is not a setting of this {section}; {did_you_mean(key, there)}".rstrip("; "))
