"""Topics that may be sent to: checked once, and cached until the topics change."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.statistics import PutCount, Statistics
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.codes import PERM_WRITE, ResponseCode, SysFlag, permission_text
from mqframe.core.errors import MessageError, Refusal
from mqframe.core.messages.names import RETRY_PREFIX, check_topic, is_closed_topic
from mqframe.hooks.interfaces.send_rule import SendFields


class SendTarget:
    """A topic that messages may be sent to.

    `queues`: queue ids below this are taken; `write_queues`: those that the broker chooses from; `sys_flag`:
    bits added to each message; `is_retry`: messages come here a second time.
    """

    __slots__ = ("is_retry", "meter", "queues", "sys_flag", "topic", "write_queues")

    def __init__(self, topic: TopicConfig, meter: PutCount) -> None:
        self.topic = topic
        self.meter = meter
        self.queues = max(topic.read_queue_nums, topic.write_queue_nums)
        self.write_queues = max(topic.write_queue_nums, 1)
        self.sys_flag = SysFlag.MULTI_TAGS if topic.topic_filter_type == "MULTI_TAG" else 0
        self.is_retry = str(topic.topic_name).startswith(RETRY_PREFIX)


class SendTargets:
    """Finds the target of a send; makes the topic where that is allowed.

    `on_made`: called with each topic that a message made, but retry topics. `settled`: asked about the topic
    of a send until it says that nothing is to be waited for; what it says holds until the topics change.
    """

    __slots__ = ("_cache", "_live", "_seen_changes", "_settled", "_statistics", "_topics", "on_made")

    def __init__(
        self,
        topics: TopicTable,
        live: LiveSettings,
        statistics: Statistics,
        settled: Callable[[TopicConfig], bool] = lambda topic: True,
    ) -> None:
        self.on_made: Callable[[TopicConfig], object] = lambda topic: None
        self._settled = settled
        self._topics = topics
        self._live = live
        self._statistics = statistics
        self._cache: dict[str, SendTarget] = {}
        self._seen_changes = -1

    def find(self, fields: SendFields) -> SendTarget:
        """The target of a send with `fields`.

        Raises `Refusal`: 29 for an illegal topic or a queue id out of range, 16 for a topic that is not for
        producers, 17 for one that neither exists nor may be made (AbstractSendMessageProcessor.msgCheck); 14
        where the broker takes none but those that come a second time.
        """
        topics = self._topics
        if self._seen_changes != topics.changes:
            self._cache.clear()
            self._seen_changes = topics.changes
        target = self._cache.get(fields.topic)
        if target is None:
            target = self._admit(fields)
        if fields.queue_id >= target.queues:
            config = target.topic
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"queue id {fields.queue_id} of topic {fields.topic} does not exist: "
                f"{config.read_queue_nums} read and {config.write_queue_nums} write queues, "
                f"permission {permission_text(config.perm)}",
            )
        return target

    def known(self, topic: str) -> SendTarget | None:
        """The target of the last send to `topic`, as long as topics are as they were then."""
        return self._cache.get(topic) if self._seen_changes == self._topics.changes else None

    def of(self, topic: TopicConfig) -> SendTarget:
        """The target that `topic` is, without checks."""
        return SendTarget(topic, self._statistics.topic(str(topic.topic_name)))

    def _admit(self, fields: SendFields) -> SendTarget:
        name = fields.topic
        try:
            check_topic(name)
        except MessageError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        if is_closed_topic(name):
            raise Refusal(
                ResponseCode.NO_PERMISSION, f"topic {name} is the system's own; it takes no messages"
            )
        if not (self._live.current.permission & PERM_WRITE or name.startswith(RETRY_PREFIX)):
            told = "this broker takes no new messages (broker.permission); send to another one"
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, told)
        topic = self._topics.find(name) or self._create(fields)
        target = self.of(topic)
        if self._settled(topic) and self._seen_changes == self._topics.changes:
            self._cache[name] = target
        return target

    def _create(self, fields: SendFields) -> TopicConfig:
        name = fields.topic
        retry = name.startswith(RETRY_PREFIX)
        sys_flag = (
            (2 if retry else 1) if fields.unit_mode else 0
        )  # TopicSysFlag.java: unit, unit subscription
        topic = self._topics.create_like(
            name,
            fields.default_topic,
            fields.default_topic_queue_nums,
            sys_flag=sys_flag,
            auto_create=self._live.current.auto_create_topics,
        )
        if topic is not None and not retry:
            self.on_made(topic)
        if topic is None and retry:
            self._topics.admit(1)
            topic = self._topics.ensure(name, 1, sys_flag=sys_flag)
        if topic is None:
            raise Refusal(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic {name} does not exist and is not made by itself here; create it first",
            )
        return topic
