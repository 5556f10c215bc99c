"""Any queue (SelectMessageQueueByRandom.java)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from mqframe.core.config.settings import setting, settings
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector


class RandomSelector(QueueSelector):
    """Each message goes to a queue drawn by chance, whatever its key. `random`: where chance comes from."""

    @settings("plugins.random")
    class Options:
        """Repeatable chance, for tests."""

        seed: int | None = setting(
            None, doc="start of the sequence of draws; none: a different one each time"
        )

    def __init__(self, options: Options | None = None, *, random: Random | None = None) -> None:
        self._random = random or Random((options or self.Options()).seed)

    def select(self, queues: Sequence[MessageQueue], message: Message, key: Any) -> MessageQueue:
        """One of `queues`, all equally likely."""
        return self._random.choice(queues)
