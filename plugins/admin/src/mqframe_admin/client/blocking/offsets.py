"""OffsetAdmin: `AsyncOffsetAdmin` for plain threads.

Generated from mqframe_admin.client.offsets, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mqframe.core.messages.message import MessageQueue
from mqframe_admin.bodies import QueueTimeSpan
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.offsets import AsyncOffsetAdmin


class OffsetAdmin(SyncSubject[AsyncOffsetAdmin]):
    """Offsets of consumer groups. Offsets count messages, times are milliseconds since 1970."""

    def reset(
        self, group: str, topic: str, timestamp_ms: int | datetime = -1, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Set the offsets of `group` to the first messages stored at or after a time; -1: to the end.

        `timestamp_ms`: since 1970, or a datetime with its zone. Members that run go on from there at once; a
        group that is offline will. Without `force` an offset is only moved back. Returns the new offsets.
        Raises `FixError` for a time that is none of these.
        """
        return self._call(self._client.reset, group, topic, timestamp_ms, force=force)

    def skip(self, group: str, topic: str) -> dict[MessageQueue, int]:
        """Have `group` go on at the end of each queue of `topic`, whatever lies before. The new offsets."""
        return self._call(self._client.skip, group, topic)

    def reset_queue(self, group: str, queue: MessageQueue, offset: int) -> int:
        """Set the offset of `group` in one queue, and no other. Returns the new one.

        Apache RocketMQ resets one queue from 5.2.0 on (BrokerConfig.java, `useServerSideResetOffset`); a
        broker before it would reset them all. There the offset is committed in place of the group, which must
        have no member online. Raises `FixError` where one is, `AnswerError` or `FixError` for an offset
        outside of the queue and for a group that the broker does not know.
        """
        return self._call(self._client.reset_queue, group, queue, offset)

    def clone(self, source: str, target: str, topic: str | None = None, *, offline: bool = False) -> None:
        """Give the group `target` the offsets of `source`, of all its topics or of `topic`.

        `offline`: also of topics that the members of `source` do not subscribe any more. Raises `AnswerError`
        when no broker has offsets of `source`.
        """
        self._call(self._client.clone, source, target, topic, offline=offline)

    def correction(self, topic: str, compared: str, without: Sequence[str] = ()) -> dict[MessageQueue, int]:
        """The smallest offset in each queue of any group but those in `without`.

        Where the group `compared` is behind it, the largest 64-bit number.
        """
        return self._call(self._client.correction, topic, compared, without)

    def time_spans(self, group: str, topic: str) -> list[QueueTimeSpan]:
        """For each queue: when its oldest, its newest and the last consumed message were stored."""
        return self._call(self._client.time_spans, group, topic)

    def min(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        return self._call(self._client.min, queue)

    def max(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return self._call(self._client.max, queue)

    def search(self, queue: MessageQueue, timestamp_ms: int | datetime, *, upper: bool = False) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        return self._call(self._client.search, queue, timestamp_ms, upper=upper)

    def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        return self._call(self._client.earliest_store_time, queue)
