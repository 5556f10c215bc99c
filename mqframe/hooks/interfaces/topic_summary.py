"""What computes counts and sums over a whole topic, for `mqframe quickstart` to compare its own with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import attrs


@attrs.define
class TagSummary:
    """What is known of the messages with one tag. `values` of them had a number; their sum is `total`."""

    count: int = 0
    values: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean of the numbers, `None` without any."""
        return self.total / self.values if self.values else None


class TopicSummary(ABC):
    """Reads a topic by itself and adds up what it finds. May block and take long."""

    @abstractmethod
    def summarize(self, nameserver: str, topic: str, value: str) -> Mapping[str, TagSummary]:
        """All messages of `topic` by tag ("" for those without).

        `nameserver`: "host:port"; `value`: the field of the JSON body to add up; "" counts only.
        """
