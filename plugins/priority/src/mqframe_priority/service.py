"""The broker service `priority`: a queue for each priority, and pops that begin with the most urgent one.

Source: SendMessageProcessor.java and PopMessageProcessor.java of RocketMQ 5.5.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import randrange
from typing import Any, Final

from mqframe.core.cluster.order_config import TYPE_ATTRIBUTE
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.messages import properties as p
from mqframe.hooks.interfaces import BrokerPort, BrokerService, PendingRecord, SendRule
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_priority.messages import is_of_another_type, priority_in
from mqframe_priority.settings import PrioritySettings

PRIORITY: Final = "PRIORITY"
"""The type of topics (attribute `message.type`) that are popped by priority."""
FACTOR_ATTRIBUTE: Final = "priority.factor"
"""Of 100 pops of a group, so many are by priority; an attribute of groups. Without it all are."""
_FACTOR: Final = 100
_DIGITS_MAX: Final = 3

ByRank = tuple[Callable[[int], Iterable[int]], int]
"""The ids of so many queues, the most urgent first, and of 100 pops how many look for retries first."""


class ToQueueOfPriority(SendRule):
    """A message with a priority is stored in the queue of that number, or in the last one.

    That of a half message, a delayed one and one in order is taken away: such a message has none.
    """

    names = frozenset((p.PRIORITY,))

    def __init__(self, port: BrokerPort) -> None:
        self._topics = port.topics

    def before(self, record: PendingRecord) -> None:
        """Choose the queue of `record`, whatever its sender chose, and tell its sender."""
        priority = priority_in(record.properties)
        if priority is None:
            return
        if is_of_another_type(record.properties):
            del record.properties[p.PRIORITY]
            return
        topic = self._topics.find(record.topic)
        if topic is not None:
            record.queue_id = min(priority, topic.write_queue_nums - 1)
            record.answer["queueId"] = str(record.queue_id)


class PriorityService(BrokerService):
    """Sends by priority to any topic, pops by priority of topics of that type."""

    Settings = PrioritySettings

    def __init__(self, port: BrokerPort) -> None:
        self._rule = ToQueueOfPriority(port)
        self._groups = port.groups
        self._settings = port.settings(PrioritySettings)

    def send_rules(self) -> Sequence[SendRule]:
        """Messages go to the queue of their priority."""
        return (self._rule,)

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """Offers "pop.by_rank": how a pop of a topic by a group reads its queues, `None`: anyhow."""
        return {"pop.by_rank": self._by_rank}

    def _by_rank(self, topic: TopicConfig, group: str) -> ByRank | None:
        if topic.attributes.get(TYPE_ATTRIBUTE, "").upper() != PRIORITY:
            return None
        found = self._groups.find(group)
        if found is not None and randrange(100) >= _factor(found.attributes.get(FACTOR_ATTRIBUTE, "")):
            return None
        settings = self._settings.current
        return (_last_first if settings.zero_is_lowest else range), settings.retry_percent


def _last_first(count: int) -> Iterable[int]:
    return range(count - 1, -1, -1)


def _factor(text: str) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
    return int(text) if is_number else _FACTOR


@hookimpl
def register_broker_services() -> Factories:
    """`priority`."""
    return {"priority": PriorityService}
