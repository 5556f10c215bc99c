"""Look-ups of messages by offset, key and time (source: QueryMessageProcessor.java)."""

from __future__ import annotations

from mqframe.broker.service import Processor
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.messages import QueryMessage, ViewMessageById
from mqframe.core.requests.serving import Call, Reply, serves

COUNT_MAX = 1024
"""No look-up gives more messages, whatever it asks for."""


class LookupProcessor(Processor):
    """Finds messages in the log."""

    @serves(QueryMessage)
    def query(self, fields: QueryMessage, call: Call) -> Reply:
        unique = fields.unique_key == "true"
        found = self._store.search.query(
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

    @serves(ViewMessageById)
    def view(self, fields: ViewMessageById, call: Call) -> Reply:
        offset = fields.offset
        record = self._store.search.record_at(offset, unconfirmed=bool(fields.mqframe_unconfirmed))
        if record is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"no message begins at log offset {offset}")
        return Reply(body=record)
