"""Administration of messages: by id, by key; their traces, and half messages to be checked again."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mqframe_trace.records import TraceKind, TraceRecord
from mqframe_trace.records import decode_records as decode_trace

from mqframe.core.codes import ResponseCode
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.moments import moment_ms
from mqframe.core.requests.admin import ResumeCheckHalfMessage
from mqframe.core.requests.messages import QueryMessage, ViewMessageById
from mqframe.core.storage.record import decode_record, decode_records
from mqframe_admin.bodies import QueueEntries
from mqframe_admin.client.calls import AdminCalls, unless
from mqframe_admin.requests import QueryConsumeQueue
from mqframe_admin.rules.dead_letters import END_OF_TIME

_UNIQUE_KEY_MESSAGES_MAX: Final = 32
_ORDER: Final = {kind: number for number, kind in enumerate(TraceKind)}


class AsyncMessageAdmin:
    """Stored messages. Times are in ms since 1970."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def by_id(self, offset_message_id: str, topic: str | None = None) -> ReceivedMessage:
        """The message with a broker's id (`SendResult.offset_message_id`), which names broker and place.

        Raises `FixError` for what is no such id, `AnswerError` when there is no message.
        """
        address, offset = parse_offset_id(offset_message_id)
        answer = await self._calls.call(address, ViewMessageById(offset, topic))
        return decode_record(bytes(answer.body))

    async def by_unique_key(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """The message with a sender's id (`SendResult.message_id`); `None` when there is none.

        Of several copies, such as retries make, the newest.
        """
        found = await find_by_key(
            self._calls, topic, unique_key, _UNIQUE_KEY_MESSAGES_MAX, 0, END_OF_TIME, unique=True
        )
        return found[0] if found else None

    async def query(
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
        begin, end = moment_ms(begin_ms, "begin_ms"), moment_ms(end_ms, "end_ms")
        found = await find_by_key(self._calls, topic, key, max_count, begin, end, unique=False)
        return found[:max_count]

    async def resume_transaction(self, offset_message_id: str) -> None:
        """Have a half message checked again from the beginning: one that is open, or was discarded.

        `offset_message_id`: of the half, or of what lies in TRANS_CHECK_MAX_TIME_TOPIC. Raises `FixError` for
        what is no such id, `AnswerError` for what is no half message, and when its transaction has ended.
        """
        address, _ = parse_offset_id(offset_message_id)
        await self._calls.call(address, ResumeCheckHalfMessage(offset_message_id))

    async def trace(
        self, message_id: str, *, trace_topic: str = TRACE_TOPIC, max_count: int = 64
    ) -> list[TraceRecord]:
        """What is known of a message's way: who sent and who consumed it, oldest first.

        `message_id`: the sender's id (`SendResult.message_id`). Empty when nobody traced it.
        """
        found: list[TraceRecord] = []
        for carrier in await self.query(trace_topic, message_id, max_count=max_count):
            host = carrier.born_host.rpartition(":")[0]
            records = decode_trace(carrier.body.decode("utf-8", "replace"), host)
            found += [record for record in records if record.message_id == message_id]
        return sorted(found, key=lambda record: (record.time_ms, _ORDER[record.kind]))

    async def queue_entries(
        self, queue: MessageQueue, index: int, count: int = 32, *, group: str | None = None
    ) -> QueueEntries:
        """Up to `count` entries of `queue` from `index` on, as stored, and which `group` would get."""
        request = QueryConsumeQueue(queue.topic, queue.queue_id, index, count, group)
        return await self._calls.ask(await self._calls.queue_address(queue), request, QueueEntries)


async def find_by_key(
    calls: AdminCalls, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int, *, unique: bool
) -> list[ReceivedMessage]:
    """The messages of `topic` with `key`, or with it as their sender's id where `unique`, newest first.

    `max_count`: as each broker is asked for. `begin_ms`, `end_ms`: when they were stored.
    """
    request = QueryMessage(topic, key, max_count, begin_ms, end_ms, "true" if unique else "false")
    found: list[ReceivedMessage] = []
    for name, address in (await calls.topic_masters(topic)).items():
        answer = await unless((ResponseCode.QUERY_NOT_FOUND,), calls.call(address, request))
        # The index knows hashes only: what merely has the same hash is left out.
        found += [
            message
            for message in decode_records(b"" if answer is None else bytes(answer.body), name)
            if (message.message_id == key if unique else key in message.keys)
        ]
    return sorted(found, key=lambda message: message.store_timestamp, reverse=True)
