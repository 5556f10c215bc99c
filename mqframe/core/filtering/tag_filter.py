"""Subscriptions by tag: `*`, or tags joined by `||` (wire.md §7; source: FilterAPI.java)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.errors import FixError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages import properties as p
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import ReceivedMessage

ALL: Final = "*"


class TagFilter:
    """The tags that `expression` names. Brokers compare hashes only, so clients compare the text again.

    Raises `FixError` for an expression that names no tag at all.
    """

    __slots__ = ("expression", "tags")

    expression_type: Final = "TAG"

    def __init__(self, expression: str | None = ALL) -> None:
        self.expression = expression or ALL
        self.tags: tuple[str, ...] = ()
        if self.expression != ALL:
            pieces = (piece.strip() for piece in self.expression.split("||"))
            self.tags = tuple(dict.fromkeys(piece for piece in pieces if piece))
            if not self.tags:
                raise FixError(f"expression {expression!r} names no tag; write '*' for all messages")
            if ALL in self.tags:
                raise FixError(f"expression {expression!r}: '*' stands alone, not among tags")

    @property
    def codes(self) -> list[int]:
        """The hashes of the tags, as the broker compares them; empty for all messages."""
        return [java_hash(tag) for tag in self.tags]

    def choose(self, messages: Sequence[ReceivedMessage]) -> Sequence[ReceivedMessage]:
        """Those of `messages` that are wanted, in order."""
        tags = self.tags
        if not tags:
            return messages
        return [m for m in messages if p.find_property(m.raw_properties, p.TAGS) in tags]

    def subscription(self, topic: str, version: int) -> SubscriptionData:
        """The heartbeat's form. `version`: milliseconds; the newest one of a group counts."""
        return SubscriptionData(
            topic=topic,
            sub_string=self.expression,
            sub_version=version,
            tags_set=list(self.tags),
            code_set=self.codes,
        )
