"""The part of the blocking administration that moves groups and looks into them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from mqframe.client.admin import AsyncAdmin
from mqframe.core.broker_info import BrokerStatsData, ConsumeStatsList, QueueEntries, QueueTimeSpan
from mqframe.core.consumer_info import ConsumerRunningInfo, DirectResult
from mqframe.core.message import MessageQueue
from mqframe.core.topics import TRACE_TOPIC
from mqframe.core.trace import TraceRecord

T = TypeVar("T")


class BlockingInsight(ABC):
    """Arguments, results and errors are those of `AsyncAdmin`."""

    @property
    @abstractmethod
    def _admin(self) -> AsyncAdmin: ...

    @abstractmethod
    def _do(self, work: Coroutine[Any, Any, T]) -> T: ...

    # Offsets

    def reset_offsets(
        self, group: str, topic: str, timestamp_ms: int = -1, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Set the offsets of `group` to the first messages stored at or after a time; -1: to the end."""
        return self._do(self._admin.reset_offsets(group, topic, timestamp_ms, force=force))

    def skip_messages(self, group: str, topic: str) -> dict[MessageQueue, int]:
        """Have `group` go on at the end of each queue of `topic`, whatever lies before. The new offsets."""
        return self._do(self._admin.skip_messages(group, topic))

    def reset_queue_offset(self, group: str, queue: MessageQueue, offset: int) -> int:
        """Set the offset of `group` in one queue. Raises `AnswerError` for one outside of the queue."""
        return self._do(self._admin.reset_queue_offset(group, queue, offset))

    def clone_offsets(
        self, source: str, target: str, topic: str | None = None, *, offline: bool = False
    ) -> None:
        """Give the group `target` the offsets of `source`, of all its topics or of `topic`."""
        self._do(self._admin.clone_offsets(source, target, topic, offline=offline))

    def correction_offsets(
        self, topic: str, compared: str, without: Sequence[str] = ()
    ) -> dict[MessageQueue, int]:
        """The smallest offset in each queue of any group but those in `without`."""
        return self._do(self._admin.correction_offsets(topic, compared, without))

    def consume_time_spans(self, group: str, topic: str) -> list[QueueTimeSpan]:
        """For each queue: when its oldest, its newest and the last consumed message were stored."""
        return self._do(self._admin.consume_time_spans(group, topic))

    def queue_entries(
        self, queue: MessageQueue, index: int, count: int = 32, *, group: str | None = None
    ) -> QueueEntries:
        """Up to `count` entries of `queue` from `index` on, as stored, and what `group` wants of it."""
        return self._do(self._admin.queue_entries(queue, index, count, group=group))

    # Members

    def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """What one member holds, counts and is set to; with `stacks` also what its threads do."""
        return self._do(self._admin.running_info(group, client_id, stacks=stacks))

    def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        return self._do(self._admin.remembered_offsets(group, topic, client_id))

    def consume_directly(
        self, group: str, offset_message_id: str, *, client_id: str | None = None
    ) -> DirectResult:
        """Have a member of `group` consume a stored message now; nothing is committed."""
        return self._do(self._admin.consume_directly(group, offset_message_id, client_id=client_id))

    # Statistics and traces

    def broker_statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none."""
        return self._do(self._admin.broker_statistic(address, name, key))

    def broker_progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        return self._do(self._admin.broker_progress(address, ordered_only=ordered_only))

    def group_readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        return self._do(self._admin.group_readable(group, topic, readable))

    def message_trace(
        self, message_id: str, *, trace_topic: str = TRACE_TOPIC, max_count: int = 64
    ) -> list[TraceRecord]:
        """What is known of a message's way: who sent and who consumed it, oldest first."""
        return self._do(self._admin.message_trace(message_id, trace_topic=trace_topic, max_count=max_count))
