"""What the messages that keep their order have in common: their key, and how it is told."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from typing import Any, Final, Literal

import attrs

from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage

KeyOf = Callable[[ReceivedMessage], Hashable | None]
"""The key of a message; `None`: it has none."""
PROPERTY: Final = "property "
KEY_PROPERTY: Final = "MQFRAME_SHARDING_KEY"
"""Property of a message: the sharding key that it was sent with. Set by the send hook `sharding_key`."""


@attrs.frozen
class KeyedOptions:
    """What the key of a message is, and what becomes of messages without one."""

    key: str | Callable[[ReceivedMessage], object] = attrs.field(
        default="sharding_key",
        metadata={
            "doc": "sharding_key (of senders with the send hook of that name, or by gRPC), keys (the business"
            ' ids of a message together), tag, "property NAME", module:function, or a function that takes the'
            " message and returns something that can be hashed"
        },
    )
    without_key: Literal["apart", "together"] = attrs.field(
        default="apart",
        metadata={
            "doc": "messages without a key are handled apart, each by itself in no order, or together, in the"
            " order of their queue"
        },
    )


def key_function(options: KeyedOptions) -> KeyOf:
    """What tells the key of a message by `options`. Raises `SettingError` for a key that it cannot be."""
    key = options.key
    if callable(key):
        return key
    if key in _KEYS:
        return _KEYS[key]
    if key.startswith(PROPERTY) and key.removeprefix(PROPERTY).strip():
        return _property(key.removeprefix(PROPERTY).strip())
    if ":" in key:
        return _imported(key)
    known = ", ".join([*_KEYS, '"property NAME"', "module:function"])
    raise SettingError(f"key = {key!r} of mode keyed: choose one of {known}, or a function")


def _property(name: str) -> KeyOf:
    return lambda message: message.properties.get(name)


def _sharding_key(message: ReceivedMessage) -> Hashable | None:
    found = message.properties
    return found.get(KEY_PROPERTY) or found.get(p.SHARDING_KEY)


def _keys(message: ReceivedMessage) -> Hashable | None:
    return message.properties.get(p.KEYS)


def _tag(message: ReceivedMessage) -> Hashable | None:
    return message.tag or None


_KEYS: Final[dict[str, KeyOf]] = {"sharding_key": _sharding_key, "keys": _keys, "tag": _tag}


def _imported(path: str) -> KeyOf:
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise FixError(f"key = {path!r} of mode keyed cannot be loaded: {problem}") from problem
    if not callable(found):
        raise FixError(f"key = {path!r} of mode keyed is a {type(found).__qualname__}, not a function")
    return found  # type: ignore[no-any-return]
