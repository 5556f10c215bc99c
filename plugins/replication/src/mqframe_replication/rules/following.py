"""What a slave does on its connection to the master (replication.md §1.2, §1.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import attrs

from mqframe.core.errors import FrameError
from mqframe_replication.rules.stream import CopyFrame, FrameReader, encode_report


@attrs.frozen
class FollowLimits:
    """`report_seconds`: longest time between reports; `silent_seconds`: after it a silent master is gone."""

    report_seconds: float
    silent_seconds: float


class LogFrame(Protocol):
    """A part of the master's log: where it begins, bytes, and what lies there; nothing in a heartbeat."""

    @property
    def offset(self) -> int:
        """Log offset of its first byte."""

    @property
    def data(self) -> memoryview:
        """What lies there."""


F = TypeVar("F", bound=LogFrame)


class Frames(Protocol[F]):
    """How what comes on one connection is read, and checked besides where it lies."""

    def read(self, data: bytes | memoryview) -> Sequence[F]:
        """The frames that are whole now, in order. Raises `FrameError` for what no master sends."""

    def check(self, frame: F) -> None:
        """Raises `FrameError` for a frame that cannot be of the log that was followed."""


class PlainFrames:
    """The frames of Apache's masters: a `Frames`."""

    def __init__(self) -> None:
        self.read = FrameReader().read

    def check(self, frame: CopyFrame) -> None:
        """As `Frames.check`: where they lie is all that they say."""


class Following(Generic[F]):
    """Checks that what the master sends follows on what the slave has, and says when to report.

    `frames`: how what it sends is read.
    `end`: log offset behind the last byte that was received, 0 before any. `stored`: up to where the slave
    keeps the log. `now`: seconds of a clock that never goes back.
    """

    def __init__(self, limits: FollowLimits, stored: int, now: float, frames: Frames[F]) -> None:
        self._limits = limits
        self._frames = frames
        self._heard = now
        self._reported_at = now
        self._reported = stored
        self.end = stored

    def hear(self, data: bytes | memoryview, now: float) -> Iterator[F]:
        """The frames that are whole now, in order; each is to be stored before the next is asked for.

        Raises `FrameError` for one that does not follow; the connection is to be closed.
        """
        for frame in self._frames.read(data):
            self._heard = now
            if self.end not in (0, frame.offset):
                raise FrameError(
                    f"the master goes on at log offset {frame.offset}, this log ends at {self.end}: it is not"
                    " the log that was followed, or of another file size"
                )
            self.end = frame.offset + len(frame.data)
            self._frames.check(frame)
            yield frame

    def report(self, stored: int, now: float) -> bytes:
        """The report to send at once: where more is stored than the last one said, or that is long ago."""
        if stored <= self._reported and now - self._reported_at <= self._limits.report_seconds:
            return b""
        return self.first_report(stored, now)

    def first_report(self, stored: int, now: float) -> bytes:
        """The report, whatever was reported before: the first of a connection."""
        self._reported, self._reported_at = stored, now
        return encode_report(stored)

    def is_silent(self, now: float) -> bool:
        """Whether no frame of the master has ended for so long that it is taken for dead.

        Bytes alone are not enough: a frame that says it is longer than it is takes in all that come after it.
        """
        return now - self._heard > self._limits.silent_seconds
