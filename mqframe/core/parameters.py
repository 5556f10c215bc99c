"""Since which version of Apache RocketMQ servers look at a parameter, and what follows where they do not.

A field of a request, or of a body, that is newer than 4.9.0 says so in its type:

    attributes: Annotated[str | None, Since("5.0.0")] = None

Servers pass over fields that they do not know, in silence, and do what is left of the request. Source: the
header classes of the releases; beside the jars that the interop tests have, the table is compared with them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from mqframe.core.versions import version_number


class Since(NamedTuple):
    """The first version that looks at a field: "" where servers of mqframe alone do.

    `idle`: values, besides the field's default, by which nothing else is asked than without it. `alters`:
    whether any other value changes what a request does; hints do not, nor what an older server has another
    way for. `until`: the version that dropped it.
    """

    version: str
    idle: tuple[object, ...] = ()
    alters: bool = True
    until: str = ""


class Parameter(NamedTuple):
    """A field that not all versions look at: its Python and its wire name, its default, and `since`."""

    name: str
    wire_name: str
    default: object
    since: Since


OURS: Final = Since("", alters=False)
"""Of a field that servers of Apache RocketMQ never look at, and that only asks for more."""


@cache
def parameters(kind: type[msgspec.Struct]) -> tuple[Parameter, ...]:
    """The fields of `kind` that not all versions look at."""
    found = []
    for field in msgspec.structs.fields(kind):
        marks = [mark for mark in _metadata(field.type) if isinstance(mark, Since)]
        found += [Parameter(field.name, field.encode_name, _default(field), mark) for mark in marks]
    return tuple(found)


def needed(sent: msgspec.Struct) -> list[Parameter]:
    """The parameters of `sent` whose values mean something else where a server does not look at them."""
    found = []
    for parameter in _altering(type(sent)):
        value = getattr(sent, parameter.name)
        if value != parameter.default and value not in parameter.since.idle:
            found.append(parameter)
    return found


def understands(version: int, sent: msgspec.Struct) -> bool:
    """Whether a server of protocol `version` looks at all that `sent` asks."""
    return all(version >= version_number(each.since.version) for each in needed(sent))


@cache
def _altering(kind: type[msgspec.Struct]) -> tuple[Parameter, ...]:
    return tuple(each for each in parameters(kind) if each.since.alters)


def _metadata(hint: Any) -> tuple[object, ...]:
    found: tuple[object, ...] = getattr(hint, "__metadata__", ())
    return found


def _default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default
