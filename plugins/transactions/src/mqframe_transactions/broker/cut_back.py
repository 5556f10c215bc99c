"""Half messages whose ends are cut off a log: they are open again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces import CutBack, OffsetPlace, StoppedStore
from mqframe_transactions.rules.half_rules import CHECK_GROUP, parse_op

_HALVES: Final = OffsetPlace(HALF_TOPIC, CHECK_GROUP, 0)
_ENDS: Final = OffsetPlace(OP_HALF_TOPIC, CHECK_GROUP, 0)


class HalvesCutBack(CutBack):
    """Has those looked at again whose end is noted in what is cut off."""

    def __init__(self) -> None:
        self._first: int | None = None

    def take(self, record: LogRecord, message: Callable[[], ReceivedMessage]) -> None:
        """Note which halves a record ends."""
        if record.topic == OP_HALF_TOPIC:
            ended = parse_op(message().stored_body)
            known = [] if self._first is None else [self._first]
            self._first = min([*known, *ended], default=None)

    def offset(self, place: OffsetPlace, offset: int, store: StoppedStore) -> int:
        """The halves are looked at again from the first that is open again."""
        if self._first is None:
            return offset
        if place == _HALVES:
            return min(offset, self._first)
        # Ends are noted behind the halves: those of the halves that are open again are to be read once more.
        return 0 if place == _ENDS else offset
