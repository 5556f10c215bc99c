"""Receipt handles as gRPC clients hold them: pop's eight words, and where the message lies in the commit log.

Source: ReceiptHandle.java. Clients take the text for opaque, and hand back what they were given.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mqframe_pop.rules.receipt_handle import ReceiptHandle

from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

UNKNOWN_OFFSET: Final = -1
_SHOWN_CHARACTERS: Final = 120
# Numbers that fit 64 and 32 bits, so that nothing later has to look again.
_WORDS: Final = re.compile(
    r"(\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,9}) ([012]) ([^ ]+) (\d{1,9}) (\d{1,18})"
    r"(?: (-1|\d{1,18})(?: .*)?)?",
    re.ASCII | re.DOTALL,
).fullmatch


class DoorHandle(NamedTuple):
    """Which delivery of a message is meant, and which record it is.

    `handle`: what the broker is told; `log_offset`: the record's place in the commit log, bytes, or
    `UNKNOWN_OFFSET`.
    """

    handle: ReceiptHandle
    log_offset: int = UNKNOWN_OFFSET

    @classmethod
    def parse(cls, text: str) -> DoorHandle:
        """The handle in `text`: eight words, nine, or more, of which the rest says nothing.

        Raises `Rejected` (INVALID_RECEIPT_HANDLE) for any other text. Whether its time is over is not looked
        at: the message may have been renewed since.
        """
        found = _WORDS(text)
        if found is None:
            raise _invalid(
                f"receipt handle {text[:_SHOWN_CHARACTERS]!r} is not one; hand back the handle of the message"
                " as it came"
            )
        start, popped, invisible, revive, mark, broker, queue, offset, log_offset = found.groups()
        handle = ReceiptHandle(
            int(start), int(popped), int(invisible), int(revive), mark, broker, int(queue), int(offset)
        )
        return cls(handle, int(log_offset) if log_offset else UNKNOWN_OFFSET)

    @property
    def text(self) -> str:
        """The nine words that a client is given; eight where the place in the commit log is not known."""
        return self.handle.text if self.log_offset < 0 else f"{self.handle.text} {self.log_offset}"

    def changed(self, pop_time: int, invisible_time: int, revive_queue: int) -> DoorHandle:
        """The handle after a change of the invisible time, which was answered these three (ms)."""
        old = self.handle
        return DoorHandle(
            ReceiptHandle(
                old.offset,
                pop_time,
                invisible_time,
                revive_queue,
                old.mark,
                old.broker_name,
                old.queue_id,
                old.offset,
            ),
            self.log_offset,
        )

    def check_current(self, now_ms: int) -> None:
        """Raise `Rejected` (INVALID_RECEIPT_HANDLE) when the message is visible to others again by `now_ms`.

        `now_ms`: ms since 1970, as the broker counts.
        """
        if self.handle.visible_at <= now_ms:
            raise _invalid(
                "receipt handle is expired: the message was not acknowledged in its invisible time, and is"
                " delivered again"
            )

    def check_log_offset(self) -> None:
        """Raise `Rejected` (INVALID_RECEIPT_HANDLE) when the handle does not say where the record lies."""
        if self.log_offset < 0:
            raise _invalid("receipt handle has no place in the commit log: its ninth word is missing")


def _invalid(text: str) -> Rejected:
    return Rejected(m.Code.INVALID_RECEIPT_HANDLE, text)
