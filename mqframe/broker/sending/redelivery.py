"""Redelivery of delayed messages into their own queues (messageTimeUp, TimerMessageStore.convert)."""

from __future__ import annotations

from mqframe.broker.sending.internal_writer import InternalWriter
from mqframe.core.codes import ResponseCode
from mqframe.core.delay.schedule import real_place
from mqframe.core.errors import Refusal
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import RecordError, decode_record
from mqframe.core.wire.frame import Body
from mqframe.log import get_logger

log = get_logger("broker")


class Redelivery:
    """Puts delayed messages into their queues, as they were sent: body, birth, flags and properties."""

    __slots__ = ("_writer",)

    def __init__(self, writer: InternalWriter) -> None:
        self._writer = writer

    def read(self, record: Body, offset: int) -> ReceivedMessage | None:
        """The message in a record that lies at log `offset`; `None`, logged, when it is none."""
        try:
            return decode_record(bytes(record))
        except RecordError as problem:
            log.error("a delayed message cannot be read; left out", offset=offset, problem=str(problem))
            return None

    def put(
        self,
        message: ReceivedMessage,
        properties: dict[str, str] | None = None,
        place: tuple[str, int] | None = None,
    ) -> None:
        """Store `message`, with `properties` instead of its own, at `place` instead of its real one.

        Raises `Refusal` when the store takes nothing at the moment. A message that it will never take is
        logged and left out, for it must not hold up all others; its record stays readable by its offset.
        """
        place = place or real_place(message.properties)
        if place is None:
            self._leave_out(message, "it does not say where it belongs")
            return
        try:
            self._store(message, properties or message.properties, place)
        except Refusal as refusal:
            if refusal.code != ResponseCode.MESSAGE_ILLEGAL:
                raise
            if properties is None:
                self._leave_out(message, refusal.remark)
            else:  # too long with what the broker adds, perhaps not without
                self.put(message, None, place)

    def _store(self, message: ReceivedMessage, properties: dict[str, str], place: tuple[str, int]) -> None:
        self._writer.put(
            *place,
            message.stored_body,
            properties,
            born_timestamp=message.born_timestamp,
            born_host=encode_host(message.born_host),
            flag=message.flag,
            sys_flag=message.sys_flag,
            reconsume_times=message.reconsume_times,
            heed_delay=False,
        )

    def _leave_out(self, message: ReceivedMessage, reason: str) -> None:
        log.error("a delayed message is left out", offset=message.commit_log_offset, reason=reason)
