"""Where a delayed message waits (store.md §6, §9; source: HookUtils.java)."""

from __future__ import annotations

from mqframe.core import properties as p
from mqframe.core.topics import SCHEDULE_TOPIC


class DelayRules:
    """Decides which messages wait, and where. `levels`: the delays of levels 1, 2, … in ms."""

    __slots__ = ("_levels",)

    def __init__(self, levels: tuple[int, ...]) -> None:
        self._levels = levels

    def place(self, topic: str, queue_id: int, properties: dict[str, str]) -> tuple[str, int]:
        """Topic and queue in which a message for `topic` and `queue_id` is stored.

        A message that waits gets its real place into `properties`.
        """
        text = properties.get(p.DELAY, "").strip()
        level = int(text) if text.isdecimal() else 0
        if level <= 0:
            return topic, queue_id
        level = min(level, len(self._levels))
        properties[p.DELAY] = str(level)
        properties[p.REAL_TOPIC] = topic
        properties[p.REAL_QUEUE_ID] = str(queue_id)
        return SCHEDULE_TOPIC, level - 1
