"""How the log of an elected leader is framed, and its frames checked (election.md §7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqframe_replication.rules.feed import DueBytes
from mqframe_replication.rules.stream import EpochFrame, EpochFrameReader, epoch_frame_head

from mqframe.core.errors import FrameError
from mqframe_election.rules.history import EpochHistory


class EpochFraming:
    """Frames that say of which epoch their bytes are, and what is confirmed: a `Framing`.

    `history`: that of the leader's log, with its own term; `confirmed`: up to where consumers may see it.
    """

    def __init__(self, history: EpochHistory, confirmed: Callable[[], int]) -> None:
        self._history = history
        self._confirmed = confirmed
        self._said = -1

    def end(self, at: int, end: int) -> int:
        """As `Framing.end`: no frame has bytes of two epochs."""
        stop = self._history.end_of_epoch_at(at)
        return end if stop is None else min(end, stop)

    @property
    def has_news(self) -> bool:
        """As `Framing.has_news`: a frame without bytes says what is confirmed by now."""
        return self._confirmed() > self._said

    def head(self, due: DueBytes) -> bytes:
        """As `Framing.head`."""
        self._said = self._confirmed()
        epoch = self._history.at(due.offset) if due.size else self._history.last_epoch
        return epoch_frame_head(due.offset, due.size, epoch, self._said)


class EpochFrames:
    """Frames of the leader of `epoch`, for a log whose last epoch is `last_epoch`: a `Frames`."""

    def __init__(self, epoch: int, last_epoch: int) -> None:
        self._reader = EpochFrameReader()
        self._epoch = epoch
        self._last_epoch = last_epoch

    def read(self, data: bytes | memoryview) -> Sequence[EpochFrame]:
        """As `Frames.read`."""
        return self._reader.read(data)

    def check(self, frame: EpochFrame) -> None:
        """As `Frames.check`: epochs never go back, nor beyond the leader's."""
        if frame.epoch > self._epoch or (len(frame.data) and frame.epoch < self._last_epoch):
            raise FrameError(
                f"the leader of epoch {self._epoch} sends bytes of epoch {frame.epoch} behind some of"
                f" epoch {self._last_epoch}: it is not the log that was followed"
            )
        if len(frame.data):
            self._last_epoch = frame.epoch
