"""Which topics, queues and groups may be read: the checks that pulls and pops share."""

from __future__ import annotations

from mqframe.broker.consuming.filters import Filters
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable, no_read_queue
from mqframe.core.codes import PERM_READ, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal


class BrokerReadAdmission:
    """Finds the topic and the group of a read, or refuses it: 16 where the broker may not be read from."""

    __slots__ = ("_groups", "_live", "_topics", "choice")

    def __init__(self, topics: TopicTable, groups: GroupTable, live: LiveSettings, filters: Filters) -> None:
        self._topics = topics
        self._groups = groups
        self._live = live
        self.choice = filters.own

    def group(self, name: str) -> SubscriptionGroupConfig:
        """The group, made where that is allowed. Raises `Refusal`: 26, 16 where it may not consume."""
        settings = self._live.current
        if not settings.permission & PERM_READ:
            raise self._unreadable()
        group = self._groups.need(name, settings.auto_create_groups)
        if not group.consume_enable:
            raise Refusal(ResponseCode.NO_PERMISSION, f"consumer group {name} may not consume")
        return group

    def topic(self, name: str, queue_id: int | None = None) -> TopicConfig:
        """The topic; `queue_id`: `None` for any queue.

        Raises `Refusal`: 17, 16 where it may not be read, 29 for a queue that it does not have.
        """
        if not self._live.current.permission & PERM_READ:
            raise self._unreadable()
        topic = self._topics.need(name)
        if not topic.perm & PERM_READ:
            raise Refusal(ResponseCode.NO_PERMISSION, f"topic {name} may not be read from")
        if queue_id is not None and not 0 <= queue_id < topic.read_queue_nums:
            raise no_read_queue(topic, queue_id)
        return topic

    def check_allowed(self, group: str, topic: str) -> None:
        """Raise `Refusal` 16 where an operator forbade `group` to read `topic`."""
        if not self._groups.may_read(group, topic):
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {group} may not read topic {topic}")

    def _unreadable(self) -> Refusal:
        return Refusal(ResponseCode.NO_PERMISSION, f"broker {self._live.current.name} may not be read from")
