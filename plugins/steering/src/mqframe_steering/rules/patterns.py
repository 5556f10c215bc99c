"""Patterns of topics: which topics they mean, and the parts of a topic's name that stand in their gaps."""

from __future__ import annotations

import re
from functools import lru_cache

import attrs

from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages.names import check_topic

_PART = re.compile(r"\{([^{}]*)\}|\*")
_CHARACTERS = "[%|a-zA-Z0-9_-]+?"
"""What a part may hold: what topics are made of; of several parts the first ones as little as they can."""


@attrs.frozen
class TopicPattern:
    """`text` with parts in braces, "orders-{region}", or stars where nobody asks what stands there.

    Raises `FixError` when no topic can be meant, or every topic would be.
    """

    text: str
    _regex: re.Pattern[str] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        where = f"pattern {self.text!r}"
        names = [name for name in (match[1] for match in _PART.finditer(self.text)) if name is not None]
        for name in names:
            if not name.isidentifier():
                raise FixError(f"{where}: {{{name}}} is no part; write a parameter's name, {{region}}")
            if names.count(name) > 1:
                raise FixError(f"{where} has two parts {{{name}}}; give one another name")
        if _PART.search(self.text) is None:
            raise FixError(f"{where} has no part, such as {{region}} or *; give it as the topic")
        if not any(character.isalnum() for character in _PART.sub("", self.text)):
            raise FixError(f"{where} means every topic; write some of what their names have in common")
        try:
            check_topic(_PART.sub("x", self.text))
        except MessageError as problem:
            raise FixError(f"{where}: {problem}") from None
        object.__setattr__(self, "_regex", re.compile(_regex(self.text)))

    def match(self, topic: str) -> dict[str, str] | None:
        """The parts of `topic` by name; `None` where it is not meant.

        Retry and dead-letter topics, which begin with "%", are meant by patterns alone that begin so.
        """
        if topic.startswith("%") and not self.text.startswith("%"):
            return None
        found = self._regex.fullmatch(topic)
        return None if found is None else found.groupdict()

    @property
    def rank(self) -> tuple[int, str]:
        """Sorts patterns by how much of a topic's name they say."""
        return len(_PART.sub("", self.text)), self.text

    @property
    def as_name(self) -> str:
        """The pattern as part of a group's name, in which braces and stars are not legal."""
        return _PART.sub(lambda match: f"_{match[1] or ''}_", self.text)


def _regex(text: str) -> str:
    made, at = "", 0
    for match in _PART.finditer(text):
        made += re.escape(text[at : match.start()])
        made += f"(?P<{match[1]}>{_CHARACTERS})" if match[1] else _CHARACTERS
        at = match.end()
    return made + re.escape(text[at:])


topic_pattern = lru_cache(maxsize=1024)(TopicPattern)
"""The pattern of a text; those of a program are few, and asked for with each message."""
