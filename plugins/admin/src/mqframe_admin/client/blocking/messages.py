"""MessageAdmin: `AsyncMessageAdmin` for plain threads.

Generated from mqframe_admin.client.messages, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from datetime import datetime

from mqframe_trace.records import TraceRecord

from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe_admin.bodies import QueueEntries
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.messages import AsyncMessageAdmin
from mqframe_admin.rules.dead_letters import END_OF_TIME


class MessageAdmin(SyncSubject[AsyncMessageAdmin]):
    """Stored messages. Times are in ms since 1970."""

    def by_id(self, offset_message_id: str, topic: str | None = None) -> ReceivedMessage:
        """The message with a broker's id (`SendResult.offset_message_id`), which names broker and place.

        Raises `FixError` for what is no such id, `AnswerError` when there is no message.
        """
        return self._call(self._client.by_id, offset_message_id, topic)

    def by_unique_key(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """The message with a sender's id (`SendResult.message_id`); `None` when there is none.

        Of several copies, such as retries make, the newest.
        """
        return self._call(self._client.by_unique_key, topic, unique_key)

    def query(
        self,
        topic: str,
        key: str,
        *,
        max_count: int = 64,
        begin_ms: int | datetime = 0,
        end_ms: int | datetime = END_OF_TIME,
    ) -> list[ReceivedMessage]:
        """Messages of `topic` with `key`, stored between two times, newest first, of all brokers.

        `begin_ms`, `end_ms`: since 1970, or datetimes with their zones. Raises `FixError` for other ones.
        """
        return self._call(
            self._client.query, topic, key, max_count=max_count, begin_ms=begin_ms, end_ms=end_ms
        )

    def resume_transaction(self, offset_message_id: str) -> None:
        """Have a half message checked again from the beginning: one that is open, or was discarded.

        `offset_message_id`: of the half, or of what lies in TRANS_CHECK_MAX_TIME_TOPIC. Raises `FixError` for
        what is no such id, `AnswerError` for what is no half message, and when its transaction has ended.
        """
        self._call(self._client.resume_transaction, offset_message_id)

    def trace(
        self, message_id: str, *, trace_topic: str = TRACE_TOPIC, max_count: int = 64
    ) -> list[TraceRecord]:
        """What is known of a message's way: who sent and who consumed it, oldest first.

        `message_id`: the sender's id (`SendResult.message_id`). Empty when nobody traced it.
        """
        return self._call(self._client.trace, message_id, trace_topic=trace_topic, max_count=max_count)

    def queue_entries(
        self, queue: MessageQueue, index: int, count: int = 32, *, group: str | None = None
    ) -> QueueEntries:
        """Up to `count` entries of `queue` from `index` on, as stored, and which `group` would get."""
        return self._call(self._client.queue_entries, queue, index, count, group=group)
