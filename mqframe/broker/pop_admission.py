"""What every request around pop is checked for, and what a pop wants (source: PopMessageProcessor.java)."""

from __future__ import annotations

from typing import Final

from mqframe.broker.filters import Filters, Wanted
from mqframe.broker.live_settings import LiveSettings
from mqframe.core.bodies import SubscriptionGroupConfig, TopicConfig
from mqframe.core.codes import PERM_READ, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.topic_table import TopicTable

EVERYTHING: Final = Wanted()


class PopAdmission:
    """Finds topic and group of a request, or refuses it."""

    def __init__(self, topics: TopicTable, groups: GroupTable, filters: Filters, live: LiveSettings) -> None:
        self._topics = topics
        self._groups = groups
        self._filters = filters
        self._live = live

    def admit(self, topic: str, group: str, queue_id: int) -> tuple[TopicConfig, SubscriptionGroupConfig]:
        """Topic and group of a read; `queue_id` -1 means any queue.

        Raises `Refusal`: 16 where reading is forbidden, 17 and 26 for what does not exist, 29 for a queue
        that the topic does not have.
        """
        settings = self._live.current
        if not settings.permission & PERM_READ:
            raise Refusal(ResponseCode.NO_PERMISSION, f"broker {settings.name} may not be read from")
        found = self._topics.find(topic)
        if found is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {topic} does not exist on this broker")
        if not found.perm & PERM_READ:
            raise Refusal(ResponseCode.NO_PERMISSION, f"topic {topic} may not be read from")
        if queue_id >= found.read_queue_nums:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"queue id {queue_id} of topic {topic} does not exist: it has {found.read_queue_nums} "
                "read queues; -1 stands for any of them",
            )
        config = self._groups.find_or_create(group, settings.auto_create_groups)
        if config is None:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {group} does not exist")
        if not config.consume_enable:
            raise Refusal(ResponseCode.NO_PERMISSION, f"consumer group {group} may not consume")
        if not self._groups.may_read(group, topic):
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {group} may not read topic {topic}")
        return found, config

    def wish(self, expression: str | None, expression_type: str | None) -> Wanted:
        """What a pop with this expression wants.

        Raises `Refusal`: 23 for an expression that is wrong, 1 for one of a type that is not enabled.
        """
        return self._filters.own(expression_type, expression) if expression else EVERYTHING
