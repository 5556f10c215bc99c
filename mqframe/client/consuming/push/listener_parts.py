"""What consume services are made of."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mqframe.client.consuming.push.answering.expired_requests import ExpiredRequests
from mqframe.client.consuming.push.consume_call import ListenerCaller
from mqframe.client.consuming.push.failure_log import FailureLog
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.core.consuming.consumer_statistics import ConsumerStatistics
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.interfaces import OffsetStore


@attrs.frozen
class ListenerParts:
    """What consume services are made of.

    `find`: the subscription of a topic, `None` when it is not subscribed any more; `store`: remembers the
    offsets of consumed messages; `failures`: logs what was not consumed; `expired`: counts requests that were
    dropped.
    """

    plan: ConsumerPlan
    caller: ListenerCaller
    find: Callable[[str], ListenedTopic | None]
    store: OffsetStore
    statistics: ConsumerStatistics
    failures: FailureLog
    expired: ExpiredRequests

    def settle(self, held: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        """Count `messages` of `held` as consumed, unless the queue was given up."""
        if messages and not held.dropped:
            offset = held.remove(messages)
            if offset is not None:
                self.store.update(held.queue, offset, increase_only=True)
