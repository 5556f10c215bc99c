"""Which queues of an exchange get a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mqframe.core.errors import FixError
from mqframe_kombu.directory import Binding

TYPES = ("direct", "topic", "fanout")


def matching(exchange_type: str, bindings: Iterable[Binding], routing_key: str) -> list[str]:
    """The names of the queues, each once, in order.

    `direct`: the routing key is the binding's; `topic`: it fits the binding's pattern, in which `*` stands
    for a word and `#` for any number of words; `fanout`: all. Raises `FixError` for another type.
    """
    if exchange_type == "fanout":
        found = [binding.queue for binding in bindings]
    elif exchange_type == "direct":
        found = [binding.queue for binding in bindings if binding.routing_key == routing_key]
    elif exchange_type == "topic":
        found = [binding.queue for binding in bindings if fits(binding.routing_key, routing_key)]
    else:
        raise FixError(f"exchanges of the type {exchange_type!r} are not known; use {', '.join(TYPES)}")
    return list(dict.fromkeys(found))


def fits(pattern: str, routing_key: str) -> bool:
    """Whether `routing_key` fits the `pattern` of a topic exchange."""
    # Each word brings the dot before it along, so that `#` may stand for no word at all.
    return _compiled(pattern).fullmatch(f".{routing_key}" if routing_key else "") is not None


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    words = {"#": r"(?:\.[^.]*)*", "*": r"\.[^.]*"}
    parts = pattern.split(".") if pattern else []
    return re.compile("".join(words.get(word, r"\." + re.escape(word)) for word in parts), re.DOTALL)
