"""How a follower copies the log of its elected leader, and what it acknowledges (election.md §7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from mqframe_replication.rules.stream import EpochFrame
from mqframe_replication.stream.copy_rules import CopyTarget

from mqframe_election.rules.epoch_framing import EpochFrames
from mqframe_election.rules.history import EpochHistory
from mqframe_election.rules.replicas import FollowerReplicas


class FlushedTarget(CopyTarget, Protocol):
    """A `CopyTarget` that can be brought to disk."""

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk, bytes."""

    async def flush_log(self) -> bool:
        """Bring everything appended so far to disk; False when that fails."""


class Epochs(Protocol):
    """Where the epochs of the log are recorded: as `ReplicaState`."""

    @property
    def history(self) -> EpochHistory:
        """The epochs of the log."""

    def record(self, history: EpochHistory) -> None:
        """`history` is that of the log now. On disk when this returns. Raises `StoreError`."""


class FollowerRules:
    """The `CopyRules` of a follower of the leader of one `epoch` after the other.

    `replicas`: notified of what is confirmed; `epochs`: of each epoch before its first byte is stored;
    `syncs`: whether only what is on disk is acknowledged.
    """

    def __init__(
        self, target: FlushedTarget, replicas: FollowerReplicas, epochs: Epochs, *, syncs: bool
    ) -> None:
        self._log = target
        self._replicas = replicas
        self._epochs = epochs
        self._report: Callable[[], object] | None = None
        self._flushing: asyncio.Task[None] | None = None
        self.syncs = syncs
        self.epoch = 0

    def begin(self, report: Callable[[], object]) -> EpochFrames:
        """As `CopyRules.begin`."""
        self._report = report
        return EpochFrames(self.epoch, self._epochs.history.last_epoch)

    def coming(self, frames: Sequence[EpochFrame]) -> None:
        """As `CopyRules.coming`: epochs that are new are recorded."""
        for frame in frames:
            history = self._epochs.history
            if len(frame.data) and frame.epoch > history.last_epoch:
                self._epochs.record(history.begin(frame.epoch, frame.offset))

    def stored(self, frames: Sequence[EpochFrame]) -> None:
        """As `CopyRules.stored`: what is confirmed now may be shown, and what came is flushed."""
        self._replicas.tell(frames[-1].confirmed)
        if self.syncs and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.ensure_future(self._flush())

    @property
    def acknowledged(self) -> int:
        """As `CopyRules.acknowledged`."""
        return self._log.flushed_offset if self.syncs else self._log.max_offset

    async def _flush(self) -> None:
        """Bring what came to disk, and report it; what comes meanwhile is the next turn's."""
        while self._report is not None and self._log.flushed_offset < self._log.max_offset:
            if not await self._log.flush_log():
                return  # the store says why; the leader goes on without this broker
            self._report()

    def ended(self) -> None:
        """As `CopyRules.ended`: nothing further is flushed for it."""
        self._report = None
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
