"""What a reader wants of a topic: by tag, or by an SQL92 expression over properties.

`filter_of` makes a filter of what an application wrote. Both kinds of filters have `expression`,
`expression_type`, `subscription(topic, version)` and `choose(messages)`.
Source: FilterAPI.java, PullAPIWrapper.java.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from mqframe.core.errors import FixError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.tag_filter import ALL, TagFilter
from mqframe.core.messages.message import ReceivedMessage

SQL92: Final = "SQL92"
_SQL_LOOKS: Final = re.compile(
    r"\s(AND|OR|NOT|IN|IS|BETWEEN|CONTAINS|STARTSWITH|ENDSWITH)\s|\s=|=\s|='|(<>|<=|>=|<|>)\s*('|-?\d)",
    re.IGNORECASE,
)
"""What no tag is likely to hold, and nearly every expression does."""
SQL_VERSION: Final = 232
"""The protocol version from which on brokers filter by expressions (4.1.0; source: PullAPIWrapper.java)."""


class Sql:
    """An SQL92 expression over the properties of messages, in the place of tags.

        @consumer.on("orders", Sql("amount > 100 AND region = 'north'"))

    The broker evaluates it, and says what is wrong with it. Raises `FixError` when `text` is empty.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise FixError(f"Sql({text!r}): an expression is a text that is not empty")
        _check_encodable(text)
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sql) and other.text == self.text

    def __hash__(self) -> int:
        return hash((Sql, self.text))

    def __repr__(self) -> str:
        return f"Sql({self.text!r})"


class SqlFilter:
    """The client's half of a filter by expression: the broker has chosen already."""

    __slots__ = ("expression",)

    expression_type: Final = SQL92

    def __init__(self, sql: Sql) -> None:
        self.expression = sql.text

    def choose(self, messages: Sequence[ReceivedMessage]) -> Sequence[ReceivedMessage]:
        """All of `messages`."""
        return messages

    def subscription(self, topic: str, version: int) -> SubscriptionData:
        """The heartbeat's form. `version`: milliseconds; the newest one of a group counts."""
        return SubscriptionData(
            topic=topic, expression_type=SQL92, sub_string=self.expression, sub_version=version
        )


MessageChoice = TagFilter | SqlFilter
"""Which messages of a topic are wanted."""


def filter_of(expression: str | Sql | None = ALL) -> MessageChoice:
    """The filter for `expression`: tags joined by "||", "*", or `Sql`.

    Raises `FixError`, also for a text that is SQL by its looks: as tags it would choose nothing.
    """
    if expression is None or isinstance(expression, str | Sql):
        return _filter_of(expression)
    said = f"expression {expression!r} is a {type(expression).__name__}, not a text or Sql(...)"
    if isinstance(expression, list | tuple | set | frozenset):
        said += f"; write {' || '.join(map(str, expression))!r}"
    raise FixError(said)


@lru_cache(maxsize=256)
def _filter_of(expression: str | Sql | None) -> MessageChoice:
    if isinstance(expression, Sql):
        return SqlFilter(expression)
    _check_encodable(expression or "")
    if expression and _SQL_LOOKS.search(expression):
        raise FixError(f"expression {expression!r} looks like SQL; write Sql({expression!r})")
    return TagFilter(expression)


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise FixError(f"expression {text!r} cannot be encoded: {problem}") from None


def check_version(wanted: MessageChoice, version: int, address: str) -> None:
    """Raise `FixError` when the broker at `address`, of protocol `version`, cannot filter by expressions.

    It would take the expression for tags.
    """
    if wanted.expression_type == SQL92 and version < SQL_VERSION:
        raise FixError(
            f"broker {address} of protocol version {version} cannot filter by {SQL92}; "
            f"that takes {SQL_VERSION} (4.1.0) or later"
        )
