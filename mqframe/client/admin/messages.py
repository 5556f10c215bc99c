"""Administration of messages: by id, by key; half messages that are to be checked again."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from mqframe.client.admin.calls import AdminCalls, unless
from mqframe.core.codes import ResponseCode
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.moments import moment_ms
from mqframe.core.requests.admin import ResumeCheckHalfMessage
from mqframe.core.requests.messages import QueryMessage, ViewMessageById
from mqframe.core.retry.dead_letters import END_OF_TIME
from mqframe.core.storage.record import decode_record, decode_records

_UNIQUE_KEY_MESSAGES_MAX: Final = 32


class MessageAdmin(AdminCalls):
    """Messages by id and key."""

    async def message_by_id(self, offset_message_id: str, topic: str | None = None) -> ReceivedMessage:
        """The message with a broker's id (`SendResult.offset_message_id`), which names broker and place.

        Raises `FixError` for what is no such id, `AnswerError` when there is no message.
        """
        address, offset = parse_offset_id(offset_message_id)
        answer = await self._call(address, ViewMessageById(offset, topic))
        return decode_record(bytes(answer.body))

    async def message_by_unique_key(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """The message with a sender's id (`SendResult.message_id`); `None` when there is none.

        Of several copies, such as retries make, the newest.
        """
        found = await self._query(topic, unique_key, _UNIQUE_KEY_MESSAGES_MAX, 0, END_OF_TIME, unique=True)
        return found[0] if found else None

    async def query_messages(
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
        found = await self._query(topic, key, max_count, begin, end, unique=False)
        return found[:max_count]

    async def resume_transaction(self, offset_message_id: str) -> None:
        """Have a half message checked again from the beginning: one that is open, or was discarded.

        `offset_message_id`: of the half, or of what lies in TRANS_CHECK_MAX_TIME_TOPIC. Raises `FixError` for
        what is no such id, `AnswerError` for what is no half message, and when its transaction has ended.
        """
        address, _ = parse_offset_id(offset_message_id)
        await self._call(address, ResumeCheckHalfMessage(offset_message_id))

    async def _query(
        self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int, *, unique: bool
    ) -> list[ReceivedMessage]:
        request = QueryMessage(topic, key, max_count, begin_ms, end_ms, "true" if unique else "false")
        found: list[ReceivedMessage] = []
        for name, address in (await self._topic_masters(topic)).items():
            answer = await unless((ResponseCode.QUERY_NOT_FOUND,), self._call(address, request))
            # The index knows hashes only: what merely has the same hash is left out.
            found += [
                message
                for message in decode_records(b"" if answer is None else bytes(answer.body), name)
                if (message.message_id == key if unique else key in message.keys)
            ]
        return sorted(found, key=lambda message: message.store_timestamp, reverse=True)
