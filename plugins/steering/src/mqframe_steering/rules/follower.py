"""Which of the topics that there are patterns mean, and which that were followed are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeVar

from mqframe_steering.rules.patterns import TopicPattern

GONE_LOOKS: Final = 4
"""A topic that a pattern means is given up when so many looks in a row did not find it. Name servers that
were started anew know all topics again sooner, when all brokers have registered."""

K = TypeVar("K")


def owner_of(topic: str, patterns: Mapping[K, TopicPattern]) -> K | None:
    """Whose of `patterns` has `topic`: the one that says most of its name; `None` where none means it."""
    meaning = [(pattern.rank, key) for key, pattern in patterns.items() if pattern.match(topic) is not None]
    return max(meaning, key=lambda each: each[0])[1] if meaning else None


class GoneTopics:
    """Counts how often in a row topics were not found."""

    def __init__(self) -> None:
        self._missed: Counter[str] = Counter()

    def look(self, followed: Iterable[str], known: Collection[str]) -> list[str]:
        """Those of the topics `followed` that are gone now, after a look that found those `known`."""
        gone = []
        for topic in followed:
            self._missed[topic] = 0 if topic in known else self._missed[topic] + 1
            if self._missed[topic] >= GONE_LOOKS:
                gone.append(topic)
                del self._missed[topic]
        return gone
