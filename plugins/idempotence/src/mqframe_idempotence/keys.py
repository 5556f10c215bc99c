"""Which key a message has: what two deliveries, or two sends, have in common when they mean one effect."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, Literal

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe_idempotence.errors import NoKey, WrongUse

KEY_CHARACTERS_MAX: Final = 200
"""Longer keys are replaced by a digest, so that they fit into the column and cost no more memory."""
SCOPE_CHARACTERS_MAX: Final = 50
_DIGEST_MARK: Final = "blake2b:"

KeyFunction = Callable[[ReceivedMessage], str | None]
"""Gives the key of a message; `None`, or an empty text: it has none."""
Missing = Literal["raise", "process"]


def message_id(message: ReceivedMessage) -> str:
    """The unique key that the sender gave, which all copies share: retries, dead letters sent again.

    Of a message without one it is the broker's id of the first copy, which its copies carry along, too. A
    message that a producer sends twice has two ids.
    """
    return message.properties.get(p.UNIQUE_KEY) or message.origin_message_id


def business_key(message: ReceivedMessage) -> str | None:
    """The keys that the producer set (`Message(keys=…)`), joined by blanks; `None` where it set none."""
    return " ".join(message.keys) or None


def property_key(name: str) -> KeyFunction:
    """A function that gives the value of the property `name`; `None` where a message lacks it."""

    def value(message: ReceivedMessage) -> str | None:
        return message.properties.get(name)

    return value


class KeyRule:
    """Finds keys of messages and makes them fit.

    `key`: a function, or a word: "message_id", "keys", "property:NAME". `missing`: what becomes of a message
    without a key: "raise" a `NoKey`, or "process" it each time that it comes. Raises `WrongUse`.
    """

    def __init__(self, key: str | KeyFunction = "message_id", missing: Missing = "raise") -> None:
        if missing not in ("raise", "process"):
            raise WrongUse(f"missing={missing!r} is none of 'raise', 'process'")
        self._function = _function(key)
        self._missing = missing

    def key_of(self, message: ReceivedMessage) -> str | None:
        """The key, at most `KEY_CHARACTERS_MAX` characters; `None` for a message to process without one.

        Raises `NoKey` where that is not wanted, or where what the function gave is no text.
        """
        found: Any = self._function(message)
        if found is None or found == "":
            if self._missing == "process":
                return None
            raise NoKey(
                f"message {message.message_id} of topic {message.topic} (queue {message.queue_id}, offset"
                f" {message.queue_offset}) has no key; let producers set it, choose another key=, or"
                " missing='process'"
            )
        if not isinstance(found, str):
            raise NoKey(
                f"the key of message {message.message_id} of topic {message.topic} is"
                f" {type(found).__qualname__}, not str; let the key function return text"
            )
        return fitting(found)


def fitting(key: str) -> str:
    """`key` itself, or a digest of 256 bits where it is long or has what databases do not keep.

    No digest equals a key: keys that look like one are digested themselves.
    """
    plain = len(key) <= KEY_CHARACTERS_MAX and key.isprintable() and key == key.strip()
    if plain and not key.startswith(_DIGEST_MARK):
        return key
    return _DIGEST_MARK + hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def checked_scope(scope: str) -> str:
    """`scope`, the name of the effect. Raises `WrongUse` when it is empty, long or has a colon or blanks."""
    if not scope or len(scope) > SCOPE_CHARACTERS_MAX or not scope.isprintable() or set(scope) & set(": "):
        raise WrongUse(
            f"scope {scope!r} is to be 1 to {SCOPE_CHARACTERS_MAX} printable characters without colon and"
            " blanks; it names the effect, such as the consumer group"
        )
    return scope


def _function(key: str | KeyFunction) -> KeyFunction:
    if callable(key):
        return key
    if key == "message_id":
        return message_id
    if key == "keys":
        return business_key
    if isinstance(key, str) and key.startswith("property:") and key.removeprefix("property:"):
        return property_key(key.removeprefix("property:"))
    raise WrongUse(f"key={key!r} is none of 'message_id', 'keys', 'property:NAME', and no function")


__all__ = ["KeyFunction", "KeyRule", "business_key", "checked_scope", "fitting", "message_id", "property_key"]
