"""What a group wants of a topic, as the broker applies it: by tag hash (wire.md §7).

Sources: FilterAPI.java, ExpressionMessageFilter.java.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.java_hash import java_hash

TAG: Final = "TAG"
"""Type of expressions that name tags."""
WEIGHT_CHARS: Final = 256
"""Characters of a subscription that count as much as the subscription itself."""


class Subscription:
    """One group's subscription of one topic.

    `codes`: hashes of the wanted tags, `None` for all messages. `is_tag`: the expression is of type TAG, the
    only one that hashes can decide. `version`: ms; the newest one of the group counts. `weight`: what it
    takes of memory, one for each `WEIGHT_CHARS` or less.
    """

    __slots__ = ("codes", "data", "is_tag", "version", "weight")

    def __init__(self, data: SubscriptionData) -> None:
        self.data = data
        self.weight = weight_of((data,))
        self.version = data.sub_version
        self.is_tag = is_tag_type(data.expression_type)
        self.codes: frozenset[int] | None = None
        if self.is_tag and data.sub_string not in (None, "", "*") and not data.class_filter_mode:
            self.codes = frozenset(data.code_set) if data.code_set else tag_codes(data.sub_string)


def weight_of(subscriptions: Iterable[SubscriptionData]) -> int:
    """What `subscriptions` take of memory: one each, and one more for each `WEIGHT_CHARS` of theirs."""
    weight = 0
    for each in subscriptions:
        chars = len(each.topic) + len(each.sub_string or "") + 8 * (len(each.code_set) + len(each.tags_set))
        weight += 1 + chars // WEIGHT_CHARS
    return weight


def is_tag_type(expression_type: str | None) -> bool:
    """Whether an expression of this type names tags; no type at all means so too."""
    return not expression_type or expression_type == TAG


@lru_cache(maxsize=1024)
def tag_codes(expression: str | None) -> frozenset[int] | None:
    """The hashes of the tags in "a || b"; `None` for all messages.

    Raises `Refusal` (23) for text that holds no tag.
    """
    if not expression or expression == "*":
        return None
    tags = [tag.strip() for tag in expression.split("||") if tag.strip()]
    if not tags:
        raise Refusal(
            ResponseCode.SUBSCRIPTION_PARSE_FAILED,
            f"subscription {expression!r} names no tag; write * for all",
        )
    return frozenset(map(java_hash, tags))


def matches_any(codes: Collection[int] | None, arrived: Collection[int]) -> bool:
    """Whether one of the tag codes that `arrived` is among `codes`."""
    return codes is None or any(code in codes for code in arrived)
