"""What happens to a message that is not an ordinary one, before it is stored.

Each rule is handed the draft and may change it or refuse it. They run in the order of `RULES`, for messages
that carry a property of theirs or go to a retry topic; all others pass them by.
"""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.send_back import ensure_dead_letter_topic
from mqframe.broker.send_targets import SendFields, SendTarget, SendTargets
from mqframe.core import properties as p
from mqframe.core.codes import ResponseCode
from mqframe.core.delay_rules import DelayRules
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.queue_locks import QueueLocks
from mqframe.core.retry_rules import TIMER_NAMES
from mqframe.core.timer_rules import recall_handle
from mqframe.core.topic_table import TopicTable
from mqframe.core.topics import HALF_TOPIC, RETRY_PREFIX, TIMER_TOPIC


class Draft:
    """A message on its way into the store.

    `target`: where its sender wants it; `topic`, `queue_id`, `sys_flag`: where and as what it is stored.
    `properties`: split, with the broker's own in it. `answer`: fields that the answer gets besides.
    """

    __slots__ = ("answer", "fields", "properties", "queue_id", "sys_flag", "target", "topic")

    def __init__(
        self, fields: SendFields, target: SendTarget, queue_id: int, properties: dict[str, str]
    ) -> None:
        self.fields = fields
        self.target = target
        self.topic = fields.topic
        self.queue_id = queue_id
        self.sys_flag = fields.sys_flag | target.sys_flag
        self.properties = properties
        self.answer: dict[str, str] = {}


Rule = Callable[[Draft], None]
"""Changes a draft, or raises `Refusal`."""


class DelayMessages:
    """A message that is to be delivered later is stored where such ones wait."""

    __slots__ = ("_broker_name", "_rules")

    def __init__(self, rules: DelayRules, broker_name: str) -> None:
        self._rules = rules
        self._broker_name = broker_name

    def __call__(self, draft: Draft) -> None:
        """Redirect `draft`. Raises `Refusal` 13 for a delay that cannot be kept."""
        if draft.topic == HALF_TOPIC:
            return  # its delay begins when it is committed
        topic = draft.topic
        draft.topic, draft.queue_id = self._rules.place(topic, draft.queue_id, draft.properties)
        if draft.topic == TIMER_TOPIC != topic and not topic.startswith(RETRY_PREFIX):
            # With this its sender can take it back (SendMessageProcessor.attachRecallHandle).
            draft.answer["recallHandle"] = recall_handle(
                topic,
                self._broker_name,
                int(draft.properties[p.TIMER_OUT_MS]),
                draft.properties[p.UNIQUE_KEY],
            )


class DivertDeadLetters:
    """A message sent to a retry topic once too often goes to the group's dead-letter topic.

    The group's maximum counts unless the sender names another; a group that holds queue locks consumes in
    order, so its messages go there at once (SendMessageProcessor.handleRetryAndDLQ).
    """

    __slots__ = ("_groups", "_locks", "_targets", "_topics")

    def __init__(
        self, groups: GroupTable, topics: TopicTable, targets: SendTargets, locks: QueueLocks
    ) -> None:
        self._groups = groups
        self._topics = topics
        self._targets = targets
        self._locks = locks

    def __call__(self, draft: Draft) -> None:
        """Divert `draft` where that is due. Raises `Refusal` 26 when the group does not exist."""
        if not draft.target.is_retry:
            return
        fields = draft.fields
        name = fields.topic.removeprefix(RETRY_PREFIX)
        group = self._groups.find(name)
        if group is None:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {name} does not exist")
        limit = group.retry_max_times
        if fields.max_reconsume_times is not None:
            limit = fields.max_reconsume_times
        if (fields.reconsume_times or 0) > limit or self._locks.any_held(name):
            draft.properties.pop(p.DELAY, None)
            for waiting in TIMER_NAMES:
                draft.properties.pop(waiting, None)
            topic = ensure_dead_letter_topic(self._topics, name)
            draft.target = self._targets.of(topic)
            draft.topic, draft.queue_id = str(topic.topic_name), 0
