"""The connection of a follower to its elected leader (election.md §7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, cast

from mqframe.core.election.history import EpochHistory
from mqframe.core.replication.epoch_feed import EpochFollowing
from mqframe.core.replication.following import Following, FollowLimits
from mqframe.core.replication.stream import CopyFrame, EpochFrame
from mqframe.net.clock import LoopClock
from mqframe.replication.dialing import Dialer
from mqframe.replication.follower import CopyTarget, Follower
from mqframe.replication.reign import FollowerReplicas


class FlushedTarget(CopyTarget, Protocol):
    """A `CopyTarget` that can be brought to disk."""

    @property
    def flushed_offset(self) -> int:
        """First log offset that is not known to be on disk, bytes."""

    async def flush_log(self) -> bool:
        """Bring everything appended so far to disk; False when that fails."""


class Epochs(Protocol):
    """Where the epochs of the log are kept: as `KeptReplica`."""

    @property
    def history(self) -> EpochHistory:
        """The epochs of the log."""

    def record(self, history: EpochHistory) -> None:
        """`history` is that of the log now. On disk when this returns. Raises `StoreError`."""


class EpochFollower(Follower):
    """A `Follower` of the leader of one `epoch` after the other.

    `replicas`: told what is confirmed; `epochs`: told of each epoch before its first byte is stored; `syncs`:
    whether only what is on disk is reported.
    """

    def __init__(
        self,
        target: FlushedTarget,
        clock: LoopClock,
        limits: FollowLimits,
        dialer: Dialer,
        replicas: FollowerReplicas,
    ) -> None:
        super().__init__(target, clock, limits, dialer)
        self._log = target
        self._replicas = replicas
        self._flushing: asyncio.Task[None] | None = None
        self.epochs: Epochs
        self.epoch = 0
        self.syncs = False

    def _new_following(self, stored: int, now: float) -> Following:
        last = self.epochs.history.last_epoch
        return EpochFollowing(self._limits, stored, now, self.epoch, last)

    def _coming(self, frames: Sequence[CopyFrame]) -> None:
        for frame in frames:
            epoch, history = cast("EpochFrame", frame).epoch, self.epochs.history
            if len(frame.data) and epoch > history.last_epoch:
                self.epochs.record(history.begin(epoch, frame.offset))

    def _came(self, frames: Sequence[CopyFrame]) -> None:
        self._replicas.tell(cast("EpochFrame", frames[-1]).confirmed)
        if self.syncs and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.ensure_future(self._flush())

    @property
    def _safe(self) -> int:
        return self._log.flushed_offset if self.syncs else self._log.max_offset

    async def _flush(self) -> None:
        """Bring what came to disk, and report it; what comes meanwhile is the next turn's."""
        while self.is_following and self._log.flushed_offset < self._log.max_offset:
            if not await self._log.flush_log():
                return  # the store tells why; the leader goes on without this broker
            self.look()

    def _end(self) -> None:
        super()._end()
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
