"""What happens to a message that is not an ordinary one, before it is stored.

Each rule is handed the draft and may change it or refuse it. They run in the order of `RULES`, for messages
that carry a property of theirs or go to a retry topic; all others pass them by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.broker.send_targets import SendFields, SendTarget, SendTargets
from mqframe.core import properties as p
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.queue_locks import QueueLocks
from mqframe.core.topic_table import TopicTable
from mqframe.core.topics import RETRY_PREFIX, dead_letter_topic


class Draft:
    """A message on its way into the store. `properties`: split, with the broker's own in it."""

    __slots__ = ("fields", "properties", "queue_id", "target")

    def __init__(
        self, fields: SendFields, target: SendTarget, queue_id: int, properties: dict[str, str]
    ) -> None:
        self.fields = fields
        self.target = target
        self.queue_id = queue_id
        self.properties = properties


Rule = Callable[[Draft], None]
"""Changes a draft, or raises `Refusal`."""


def refuse_transactions(draft: Draft) -> None:
    """Half messages are not stored by this release."""
    if draft.properties.get(p.TRANSACTION_PREPARED, "").lower() == "true":
        raise Refusal(
            ResponseCode.MESSAGE_ILLEGAL,
            f"transactional messages are not supported ({p.TRANSACTION_PREPARED})",
        )


_DELAYS: Final = (p.DELAY, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS, p.TIMER_DELIVER_MS, "TIMER_DEL_UNIQKEY")


def refuse_delays(draft: Draft) -> None:
    """Delayed messages are not stored by this release."""
    for name in _DELAYS:
        value = draft.properties.get(name)
        if value is not None and (name != p.DELAY or value.strip() not in ("0", "-1")):
            raise Refusal(
                ResponseCode.MESSAGE_ILLEGAL, f"delayed messages are not supported ({name}={value})"
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
            draft.target = self._targets.of(self._topics.ensure(dead_letter_topic(name), 1))
            draft.queue_id = 0
