"""What a broker service keeps beside the log, put back where the end of the log is cut off.

A log is cut while its broker is stopped: a slave whose log differs from its master's is cut back to what both
have. Whatever counted on what is cut off must stand before it then, rather earlier than right, so that
messages come twice, never not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.wire.bodies import Body

B = TypeVar("B", bound=Body)


class OffsetPlace(NamedTuple):
    """A queue of which a consumer group has an offset."""

    topic: str
    group: str
    queue_id: int


class FileChange(msgspec.Struct, frozen=True):
    """What becomes of a file of the store: `content`, or `None`: it goes; of a folder, what lies in it goes.

    `path`: below the store's folder. Done durably, in order, and possibly more than once.
    """

    path: str
    content: bytes | None = None


class StoppedStore(Protocol):
    """A store that nobody has open, whose log is about to be cut."""

    @property
    def directory(self) -> Path:
        """Its folder."""

    def first_cut(self, topic: str, queue_id: int) -> int | None:
        """The first queue offset of a queue that is cut off; `None`: none is."""

    def record(self, topic: str, queue_id: int, offset: int) -> LogRecord | None:
        """What a queue lists at queue offset `offset`; `None` where it is deleted, or was never there."""

    def table(self, name: str, body: type[B]) -> B | None:
        """What the file `name` below `config/` holds; `None` where there is none. Raises `StoreError`."""


class CutBack:
    """Implement what is needed. A service's factory names its class in the attribute `CutBack`.

    One is made, without arguments, for each log that is cut; it is asked in the order of the methods.
    """

    def take(self, record: LogRecord, message: Callable[[], ReceivedMessage]) -> None:
        """The next record that is cut off; `message`: reads it whole."""

    def offset(self, place: OffsetPlace, offset: int, store: StoppedStore) -> int:
        """Where the offset of a group is to stand that would stand at `offset`: there, or lower."""
        return offset

    def files(self, store: StoppedStore) -> Sequence[FileChange]:
        """What becomes of files of the service. Raises `StoreError` for what cannot be read; OSError."""
        return ()
