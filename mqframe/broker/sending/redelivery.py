"""Redelivery of delayed messages into their own queues (messageTimeUp, TimerMessageStore.convert)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.delay.schedule import real_place
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.failures import may_pass
from mqframe.core.storage.left_out import MessagePlace, place_of
from mqframe.core.storage.record import decode_record
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import LeftOutNotes, MessageWriter

TASK: Final = "delivery of delayed messages"


class Redelivery:
    """Puts delayed messages into their queues, as they were sent: body, birth, flags and properties.

    A message that this cannot be done with is noted in `left_out`, for it must not hold up all others.
    """

    __slots__ = ("_left_out", "_writer")

    def __init__(self, writer: MessageWriter, left_out: LeftOutNotes) -> None:
        self._writer = writer
        self._left_out = left_out

    def read(self, record: Body, place: MessagePlace) -> ReceivedMessage | None:
        """The message in a record that lies at `place`; `None`, and left out, when it is none."""
        try:
            message = decode_record(bytes(record))
        except Exception as problem:
            if may_pass(problem):
                raise
            self._left_out.note(TASK, place, problem)
            return None
        return message

    def attempt(self, place: MessagePlace, work: Callable[[], object]) -> bool:
        """Do `work` on the message at `place`, as `LeftOut.attempt` does."""
        return self._left_out.attempt(TASK, place, work)

    def gone(self, place: MessagePlace, log_start: int) -> None:
        """No record was found for the message at `place`. `log_start`: oldest offset that the log keeps."""
        if place.log_offset >= log_start:
            self._left_out.note(TASK, place, "its record cannot be read")

    def put(
        self,
        message: ReceivedMessage,
        properties: dict[str, str] | None = None,
        place: tuple[str, int] | None = None,
    ) -> None:
        """Store `message`, with `properties` instead of its own, at `place` instead of its real one.

        Raises what may pass, when the store takes nothing at the moment. A message that it will never take is
        left out.
        """
        place = place or real_place(message.properties)
        if place is None:
            self._left_out.note(TASK, place_of(message), "it does not say where it belongs")
            return
        try:
            self._store(message, properties or message.properties, place)
        except Exception as problem:
            if may_pass(problem):
                raise
            if properties is None:
                self._left_out.note(TASK, place_of(message), problem)
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
