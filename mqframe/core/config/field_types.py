"""Values of settings and plugin options: from text or loose types to the declared type of a field.

Types: bool, int, float, str, Path, enums, `Literal`, unions with `None`, `tuple[X, ...]`, `frozenset[X]`,
`Mapping[str, X]`, and any class (an instance is taken as it is).
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_SEPARATORS: Final = re.compile(r"[;,]")


def field_types(cls: type[Any]) -> Mapping[str, Any]:
    """The resolved annotations of an attrs class, by field name."""
    return get_type_hints(cls)


def convert(value: Any, kind: Any) -> Any:
    """`value` as a `kind`; text is parsed. Raises ValueError that says what was expected.

    Lists in text are separated by commas or semicolons; an empty text or "none" is `None` where that is
    allowed.
    """
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union(value, get_args(kind))
    if origin is Literal:
        return _choice(value, get_args(kind))
    if origin is not None:
        return _collection(value, kind, origin)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(value, kind)
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise ValueError(f"must be {name_of(kind)}")


def name_of(kind: Any) -> str:
    """A short name of a field type for messages and tables, for example "int" or "tuple of str"."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(name_of(arm) for arm in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is not None:
        inner = [name_of(a) for a in arguments if a is not Ellipsis]
        return f"{origin.__name__} of {' to '.join(inner)}" if inner else str(origin.__name__)
    return "none" if kind is type(None) else str(getattr(kind, "__name__", kind))


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("must be true or false")


def _number(value: Any, parse: Callable[[str], Any], kind: Any, what: str) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    try:
        if isinstance(value, str) and value.isascii():  # digits of other scripts are numbers to Python alone
            return parse(value.strip())
    except ValueError:
        pass
    raise ValueError(f"must be {what}")


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be text")


def _path(value: Any) -> Path:
    if isinstance(value, str) and value:
        return Path(value)
    if isinstance(value, Path):
        return value
    raise ValueError("must be a path")


def _none(value: Any) -> None:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null")):
        return None
    raise ValueError("must be none")


_SCALARS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    bool: _bool,
    int: lambda value: _number(value, int, int, "a whole number"),
    float: lambda value: float(_number(value, float, int | float, "a number")),
    str: _str,
    Path: _path,
    type(None): _none,
}


def _union(value: Any, arms: tuple[Any, ...]) -> Any:
    # None first: an empty text for an optional text means "not set".
    for arm in sorted(arms, key=lambda arm: arm is not type(None)):
        try:
            return convert(value, arm)
        except ValueError:
            continue
    raise ValueError(f"must be {' or '.join(map(name_of, arms))}")


def _choice(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if value == choice or (isinstance(value, str) and value.strip() == str(choice)):
            return choice
    raise ValueError(f"must be one of {', '.join(map(str, choices))}")


def _enum(value: Any, kind: type[Enum]) -> Enum:
    if isinstance(value, kind):
        return value
    for member in kind:
        if value == member.value or (isinstance(value, str) and value.strip() == member.name):
            return member
    raise ValueError(f"must be one of {', '.join(str(member.value) for member in kind)}")


def _collection(value: Any, kind: Any, origin: Any) -> Any:
    arguments = get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise ValueError("must be a table")
        key_kind, item_kind = arguments or (Any, Any)
        return {convert(k, key_kind): convert(v, item_kind) for k, v in value.items()}
    if not (isinstance(origin, type) and issubclass(origin, tuple | frozenset | list | set)):
        if callable(value) and origin is Callable:
            return value
        raise ValueError(f"must be {name_of(kind)}")
    if isinstance(value, str):
        value = [item.strip() for item in _SEPARATORS.split(value) if item.strip()]
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("must be a list")
    item_kind = arguments[0] if arguments else Any
    return origin(convert(item, item_kind) for item in value)
