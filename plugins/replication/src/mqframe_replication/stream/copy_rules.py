"""What differs among those who copy a log: how it comes, and how far a copy is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from mqframe_replication.rules.following import Frames, LogFrame, PlainFrames
from mqframe_replication.rules.stream import CopyFrame

F = TypeVar("F", bound=LogFrame)


class CopyTarget(Protocol):
    """A log that is written from what comes: as `ReplicaLog`."""

    @property
    def max_offset(self) -> int:
        """Log offset behind the last whole record, bytes."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing before `max_offset`."""

    def append_copy(self, offset: int, *parts: bytes | memoryview) -> None:
        """Append what lies from log offset `offset` of the master on. Raises `StoreError`."""

    def forget_partial(self) -> None:
        """Drop what has come of a record that is not whole."""

    def dispatch_soon(self) -> None:
        """Let consumers see it."""


class CopyRules(Protocol[F]):
    """The rules of a `Follower`."""

    def begin(self, report: Callable[[], object]) -> Frames[F]:
        """How what comes on a connection that begins now is read.

        `report` is to be called when `acknowledged` has grown by itself, until the connection has `ended`.
        """

    def coming(self, frames: Sequence[F]) -> None:
        """`frames` are sound, and are stored next. May raise `StoreError`."""

    def stored(self, frames: Sequence[F]) -> None:
        """`frames` are stored."""

    @property
    def acknowledged(self) -> int:
        """Up to which log offset this log is as the master is to be told."""

    def ended(self) -> None:
        """The connection is over."""


class SlaveRules:
    """The `CopyRules` of a slave: whatever `target` holds is acknowledged."""

    def __init__(self, target: CopyTarget) -> None:
        self._target = target

    def begin(self, report: Callable[[], object]) -> Frames[CopyFrame]:
        """As `CopyRules.begin`."""
        return PlainFrames()

    def coming(self, frames: Sequence[CopyFrame]) -> None:
        """As `CopyRules.coming`: there is nothing to do before."""

    def stored(self, frames: Sequence[CopyFrame]) -> None:
        """As `CopyRules.stored`: there is nothing to do behind."""

    @property
    def acknowledged(self) -> int:
        """As `CopyRules.acknowledged`."""
        return self._target.max_offset

    def ended(self) -> None:
        """As `CopyRules.ended`."""
