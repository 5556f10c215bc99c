"""The filter by tags, which every broker brings."""

from __future__ import annotations

from mqframe.core.filtering.subscription import tag_codes
from mqframe.core.messages.properties import TAGS
from mqframe.hooks.interfaces import MessageFilter
from mqframe.hooks.interfaces.message_filter import Matches


class TagExpressions(MessageFilter):
    """Expressions such as "paid || refunded"; "*" or nothing at all for every message."""

    name = "TAG"

    def compile(self, expression: str) -> Matches:
        """Compares whole tags. Raises `Refusal` (23) for text that holds no tag."""
        if tag_codes(expression) is None:
            return lambda properties: True
        tags = {tag.strip() for tag in expression.split("||")}
        return lambda properties: properties.get(TAGS) in tags

    def codes(self, expression: str | None) -> frozenset[int] | None:
        """The hashes of the tags. Raises `Refusal` (23) for text that holds no tag."""
        return tag_codes(expression)
