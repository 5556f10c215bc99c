"""The parts of a store that somebody needs who writes its log as a copy of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqframe.core.storage.log_reading import LogReading
from mqframe.store.appending.appender import Appender
from mqframe.store.appending.dispatching import Dispatching
from mqframe.store.appending.inline_dispatch import InlineDispatch
from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.log.confirming import Confirming
from mqframe.store.log.log_offsets import LogOffsets
from mqframe.store.message_files import MessageFiles
from mqframe.store.reading.search import Search
from mqframe.store.upkeep.damage import Damage
from mqframe.store.upkeep.quarantine import Quarantine


class CopyParts(NamedTuple):
    """Of the store of a slave; they belong to its loop and its thread.

    `log`: where it ends, and what is on disk; `quarantine`: what was taken out of it; `now_ms`: the time;
    `reading`: another way to read records.
    """

    files: MessageFiles
    appender: Appender
    inline: InlineDispatch
    refusals: WriteRefusals
    dispatch: Dispatching
    search: Search
    damage: Damage
    quarantine: Quarantine
    log: LogOffsets
    confirming: Confirming
    now_ms: Callable[[], int]
    reading: LogReading


MakeCopy = Callable[[CopyParts], object]
"""Makes what takes the log of a master: what `MessageStore.replica` is then."""
