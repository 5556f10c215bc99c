"""Single messages by offset, key and time: 33 and 12 (source: QueryMessageProcessor.java)."""

from __future__ import annotations

from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.messages import QueryMessage, ViewMessageById
from mqframe.net.call import Call, Handler, Reply
from mqframe.store.message_store import MessageStore

COUNT_MAX = 1024
"""No look-up gives more messages, whatever it asks for."""


class LookupProcessor(Part):
    """Finds messages in the log."""

    def __init__(self, store: MessageStore, live: LiveSettings) -> None:
        self._store = store
        self._live = live

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {12: self._query, 33: self._view}

    def _query(self, call: Call) -> Reply:
        fields = call.fields(QueryMessage)
        unique = fields.unique_key == "true"
        found = self._store.query(
            fields.topic,
            fields.key,
            self._live.current.query_messages_max if unique else min(fields.max_num, COUNT_MAX),
            fields.begin_timestamp,
            fields.end_timestamp,
            unique=unique,
        )
        ext = {
            "indexLastUpdateTimestamp": str(found.last_timestamp),
            "indexLastUpdatePhyoffset": str(found.last_offset),
        }
        if not found.records:
            remark = f"topic {fields.topic} has no message with key {fields.key} in this stretch of time"
            return Reply(ResponseCode.QUERY_NOT_FOUND, ext=ext, remark=remark)
        return Reply(ext=ext, body=list(found.records))

    def _view(self, call: Call) -> Reply:
        offset = call.fields(ViewMessageById).offset
        record = self._store.record_at(offset)
        if record is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"no message begins at log offset {offset}")
        return Reply(body=record)
