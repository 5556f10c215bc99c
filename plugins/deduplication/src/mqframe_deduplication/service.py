"""The broker service `deduplication`: window, rule and what they are rebuilt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.hooks.interfaces import BrokerPort, BrokerService, Periodic, SavedTable, SendRule
from mqframe.log import get_logger
from mqframe_deduplication.options import DeduplicationOptions
from mqframe_deduplication.rebuilding import Rebuilding, WindowPosition, WindowTable
from mqframe_deduplication.rule import Once
from mqframe_deduplication.window import Window

log = get_logger("deduplication")
_POSITION_SECONDS: Final = 10.0


class Deduplication(BrokerService):
    """A send whose key was stored within the window is answered with the first result and stored no more.

    Only where to start reading is saved; the keys themselves are read from the log at each start, so that
    they are always those of the messages that are there. Keys that were sent before the service was used for
    the first time are not known.
    """

    Options = DeduplicationOptions

    def __init__(self, port: BrokerPort, options: DeduplicationOptions) -> None:
        self._port = port
        self._window = Window(options.window_seconds * 1000, options.keys_max)
        self._rule = Once(options, self._window, port.clock, port.identity.offset_id)
        self._rebuilding = Rebuilding(options, self._window, port.identity.name)
        self._table = WindowTable()

    def send_rules(self) -> Sequence[SendRule]:
        """The rule that looks for keys."""
        return (self._rule,)

    def tables(self) -> Sequence[SavedTable]:
        """From where the log has to be read."""
        return (SavedTable("deduplication.json", WindowPosition, self._table, at_once=True),)

    def periodic(self) -> Sequence[Periodic]:
        """Forget, and save how far."""
        return (Periodic(_POSITION_SECONDS, self._save_position, "deduplication window"),)

    def counters(self) -> Mapping[str, str]:
        """How many keys are known, and how many doubles came since the start."""
        return {
            "deduplicationKeys": str(len(self._window)),
            "deduplicationDoubles": str(self._rule.doubles),
        }

    async def start(self) -> None:
        """Read the keys of the window from the log."""
        reader = self._port.reader
        start = self._table.rebuild_from
        if 0 <= start <= reader.max_offset:
            count = 0
            async for message in reader.records_from(start):
                self._rebuilding.note(message)
                count += 1
            log.info("keys were read from the log", records=count, keys=len(self._window), offset=start)
        self._save_position()

    async def stop(self) -> None:
        """Save how far the window reaches."""
        self._save_position()

    def _save_position(self) -> None:
        self._window.expire(self._port.clock.now_ms())
        oldest = self._window.oldest_offset
        self._table.move(self._port.reader.max_offset if oldest is None else oldest)
