"""The replication stream of an elected group, both sides (election.md §7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mqframe.core.election.history import EpochHistory
from mqframe.core.errors import FrameError
from mqframe.core.replication.feed import Due, Feed, FeedLimits
from mqframe.core.replication.following import Following, FollowLimits
from mqframe.core.replication.stream import EpochFrameReader, epoch_frame_head


class EpochFeed(Feed):
    """A `Feed` whose frames say of which epoch their bytes are, and what is confirmed.

    `history`: that of the leader's log, with its own reign; `confirmed`: up to where consumers may see it.
    """

    def __init__(
        self, limits: FeedLimits, now: float, history: EpochHistory, confirmed: Callable[[], int]
    ) -> None:
        super().__init__(limits, now)
        self._history = history
        self._confirmed = confirmed
        self._told = -1

    def due(self, end: int, now: float, most: int | None = None) -> Due | None:
        """As `Feed.due`; no frame has bytes of two epochs, one without any says what is confirmed by now."""
        if self.following < 0:
            return None
        stop = self._history.end_of_epoch_at(self.following)
        due = super().due(end if stop is None else min(end, stop), now, most)
        if due is None and self._confirmed() > self._told:
            self._sent = now
            return Due(self.following, 0)
        return due

    def head(self, due: Due) -> bytes:
        """What stands before the bytes of `due`, which are sent now."""
        self._told = self._confirmed()
        epoch = self._history.at(due.offset) if due.size else self._history.last_epoch
        return epoch_frame_head(due.offset, due.size, epoch, self._told)


class EpochFollowing(Following):
    """A `Following` of the leader of `epoch`, by a log whose last epoch is `last_epoch`."""

    def __init__(self, limits: FollowLimits, stored: int, now: float, epoch: int, last_epoch: int) -> None:
        super().__init__(limits, stored, now)
        self._reader: Any = EpochFrameReader()
        self._epoch = epoch
        self._last_epoch = last_epoch

    def hear(self, data: bytes | memoryview, now: float) -> Iterator[Any]:
        """As `Following.hear`: frames with an epoch, which never goes back nor beyond the leader's."""
        for each in super().hear(data, now):
            frame: Any = each
            if frame.epoch > self._epoch or (len(frame.data) and frame.epoch < self._last_epoch):
                raise FrameError(
                    f"the leader of epoch {self._epoch} sends bytes of epoch {frame.epoch} behind some of"
                    f" epoch {self._last_epoch}: it is not the log that was followed"
                )
            if len(frame.data):
                self._last_epoch = frame.epoch
            yield frame
