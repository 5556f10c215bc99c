"""Options as Spark hands them over: texts, found whatever the case of their names.

They are declared as settings: the option of the field `starting_offsets` is `startingOffsets`.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, Literal, Union, get_args, get_origin

import attrs

from mqframe.core.cluster.name_servers import parse_addresses
from mqframe.core.config.field_types import convert, field_types
from mqframe.core.config.settings import Check
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.names import check_group
from mqframe_spark.kafka_options import instead

SECRETS: Final = ("accesskey", "secretkey", "securitytoken")
"""Options whose values are never shown, nor those of names that were meant to be one of them."""
_SECRET: Final = re.compile("secret|key|token|passw|pwd|credential|auth|jaas", re.IGNORECASE)
_ALIKE: Final = 0.6
_MEANT_MAX: Final = 2


def options_of(cls: type[Any]) -> Iterator[tuple[str, attrs.Attribute[Any]]]:
    """The options that a settings class declares, in its order: name and field."""
    for field in attrs.fields(cls):
        if "doc" in field.metadata:
            first, *words = field.name.split("_")
            yield first + "".join(word.capitalize() for word in words), field


def option_names(*classes: type[Any]) -> tuple[str, ...]:
    """The names of all options of `classes`, as they are documented."""
    return tuple(name for cls in classes for name, _ in options_of(cls))


class Given:
    """The options that came. `names`: all that there are, as they are documented; `side`: whose they are.

    All methods raise `SettingError` that names option and value.
    """

    def __init__(self, given: Mapping[str, str], names: Sequence[str], side: str = "mqframe") -> None:
        self.values = {name.lower(): value for name, value in given.items()}
        known = {name.lower() for name in names}
        unknown = sorted(name for name in given if name.lower() not in known)
        if unknown:
            shown = ", ".join(_shown(name, given[name]) for name in unknown)
            told = [instead(name) or did_you_mean(name, names, most=_MEANT_MAX) for name in unknown]
            meant = "; ".join(filter(None, told)) or f"options of {side}: {', '.join(names)}"
            raise SettingError(f"unknown option {shown}; {meant}")

    def get(self, name: str) -> str | None:
        """The text of `name`; `None` when it was not given."""
        return self.values.get(name.lower())

    def change(self, names: Sequence[str], how: Callable[[str], str]) -> None:
        """Take what `how` makes of the texts of `names`, in small letters, in their place."""
        for name in names:
            if name in self.values:
                self.values[name] = how(self.values[name])

    def read(self, cls: type[Any]) -> dict[str, Any]:
        """The fields of the settings class `cls` that were given, each of its declared type and checked."""
        kinds = field_types(cls)
        return {
            field.name: self._value(name, field, kinds[field.name])
            for name, field in options_of(cls)
            if self.get(name) is not None
        }

    def _value(self, name: str, field: attrs.Attribute[Any], kind: Any) -> Any:
        text = self.values[name.lower()]
        check = field.metadata["check"]
        try:
            value = (field.metadata["from_conf"] or _converter(kind))(text)
            problem = check(value) if check else None
        except (ValueError, FixError) as error:
            problem = str(error)
        if problem:
            shown = "" if field.metadata["secret"] else f" = {text!r}"
            raise SettingError(f"option {name}{shown}: {problem}")
        return value

    def one_of(self, *names: str) -> str | None:
        """Which of `names` was given; at most one may be."""
        found = [name for name in names if self.get(name) is not None]
        if len(found) > 1:
            raise SettingError(f"options {' and '.join(found)} contradict each other; give one of them")
        return found[0] if found else None

    def nameserver(self) -> str:
        """Addresses of name servers; the variable NAMESRV_ADDR stands in."""
        text = self.get("nameserver") or os.environ.get("NAMESRV_ADDR", "")
        try:
            return ";".join(parse_addresses(text))
        except SettingError as problem:
            raise SettingError(f"option nameserver = {text!r}: {problem}") from None


def group_name(text: str) -> str:
    """The name of a consumer or producer group. Raises `MessageError`."""
    check_group(text)
    return text


def if_any(check: Check) -> Check:
    """`check` for an option that has no default."""
    return lambda value: None if value is None else check(value)


def _converter(kind: Any) -> Any:
    """What makes a `kind` of text. An option that was given is never `None`, and words have no case."""
    if get_origin(kind) in (Union, types.UnionType):
        [kind] = (arm for arm in get_args(kind) if arm is not type(None))
    if get_origin(kind) is Literal:
        return lambda text: convert(text.strip().lower(), kind)
    return lambda text: convert(text, kind)


def _shown(name: str, value: str) -> str:
    """An unknown option for people to read; without its value where that may be a secret misspelt."""
    alike = any(SequenceMatcher(None, name.lower(), secret).ratio() > _ALIKE for secret in SECRETS)
    return name if alike or _SECRET.search(name) else f"{name} = {value!r}"
