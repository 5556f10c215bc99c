"""What a master does on the connection of one slave (replication.md §1.1, §1.3, §1.5)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import attrs

from mqframe.core.errors import FrameError
from mqframe_replication.rules.stream import ReportReader, frame_head


@attrs.frozen
class FeedLimits:
    """`batch_bytes`: most of one frame; `file_bytes`: no frame reaches across a file's end; times in s.

    `bytes_per_second_max`: of the log, to all slaves together; `None`: any number. `gather_seconds`: how long
    what was appended may wait for more of its kind.
    """

    batch_bytes: int
    file_bytes: int
    heartbeat_seconds: float
    silent_seconds: float
    bytes_per_second_max: int | None = None
    gather_seconds: float = 0


class DueBytes(NamedTuple):
    """What is to be sent now: `size` bytes of the log from `offset` on; 0: a heartbeat."""

    offset: int
    size: int


class Framing(Protocol):
    """How the log is framed on one connection."""

    def end(self, at: int, end: int) -> int:
        """Where a frame that begins at log offset `at` ends at most, while the log ends at `end`."""

    @property
    def has_news(self) -> bool:
        """Whether a frame without bytes is to be sent at once, for what stands before them."""

    def head(self, due: DueBytes) -> bytes:
        """What stands before the bytes of `due`, which are sent now."""


class PlainFraming:
    """The frames of Apache's masters: a `Framing`."""

    has_news = False

    def end(self, at: int, end: int) -> int:
        """As `Framing.end`."""
        return end

    def head(self, due: DueBytes) -> bytes:
        """As `Framing.head`."""
        return frame_head(due.offset, due.size)


class Feed:
    """Follows the reports of one slave, and says what it is to be sent, framed by `framing`.

    `following`: the log offset of the next byte to send, -1 before the first report; `acknowledged`: up to
    where the slave has the log, bytes; 0 before. `now`: seconds of a clock that never goes back.
    """

    def __init__(self, limits: FeedLimits, now: float, framing: Framing) -> None:
        self._limits = limits
        self._framing = framing
        self._reader = ReportReader()
        self._heard = self._sent = self._taken_at = now
        self._taken = 0
        self.following = -1
        self.acknowledged = 0

    def hear(self, data: bytes, start: int, end: int, now: float) -> None:
        """Take what the slave sent, while the log reaches from `start` to before `end`.

        Raises `FrameError` for a slave that this master cannot feed; its connection is to be closed.
        """
        for offset in self._reader.read(data):
            self._heard = now
            if offset > end:
                raise FrameError(
                    f"the slave's log ends at {offset}, behind the end of this log at {end}: they differ."
                    " Start the slave with an empty store, or let it be the master if it has what was"
                    " acknowledged"
                )
            if self.following < 0:
                self._begin(offset, start)
            self.acknowledged = max(self.acknowledged, offset)

    def _begin(self, offset: int, start: int) -> None:
        if offset < 0:
            raise FrameError(f"the slave reports {offset}, which is no place in a log")
        if 0 < offset < start:
            raise FrameError(
                f"the slave's log ends at {offset}, before the oldest byte that is kept here, {start}: start"
                " the slave with an empty store"
            )
        self.following = offset or start

    def due(self, end: int, now: float, most: int | None = None) -> DueBytes | None:
        """What is to be sent while the log ends at `end`; `None`: nothing. It counts as sent from then on.

        `most`: how many bytes of the log may be sent now; a heartbeat may always.
        """
        at, limits = self.following, self._limits
        if at < 0:
            return None
        size = min(
            self._framing.end(at, end) - at, limits.batch_bytes, limits.file_bytes - at % limits.file_bytes
        )
        if most is not None:
            size = min(size, most)
        if size <= 0 and now - self._sent <= limits.heartbeat_seconds and not self._framing.has_news:
            return None
        size = max(size, 0)
        self._sent = now
        self.following = at + size
        return DueBytes(at, size)

    def head(self, due: DueBytes) -> bytes:
        """What stands before the bytes of `due`, which are sent now."""
        return self._framing.head(due)

    def is_silent(self, now: float) -> bool:
        """Whether no report of the slave has come for so long that it is taken for dead."""
        return now - self._heard > self._limits.silent_seconds

    def is_stuck(self, unsent: int, now: float) -> bool:
        """Whether the slave has taken nothing for as long, while `unsent` bytes wait to leave for it."""
        taken = self.following - unsent
        if not unsent or taken > self._taken:
            self._taken, self._taken_at = taken, now
        return now - self._taken_at > self._limits.silent_seconds
