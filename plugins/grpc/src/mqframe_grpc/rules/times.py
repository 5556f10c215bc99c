"""Times of the protocol and milliseconds, each made of the other."""

from __future__ import annotations

from typing import Final

from mqframe_grpc.proto import messages as m

_FIRST_MS: Final = -62_135_596_800_000
"""The year 1 begins."""
_LAST_MS: Final = 253_402_300_799_999
"""The year 9999 ends: Java's and .NET's clients fail at a timestamp before or after these."""
NANOS: Final = 1_000_000_000
"""In a second."""


def duration_ms(duration: m.Duration) -> int:
    """Whole milliseconds of what a client sent: any number, a negative one, too."""
    return duration.seconds * 1000 + duration.nanos // 1_000_000


def duration(ms: int) -> m.Duration:
    """The duration of `ms` milliseconds, which are not negative."""
    return m.Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def moment_ms(stamp: m.Timestamp) -> int | None:
    """Milliseconds since 1970; `None` for a time before, beyond the year 9999, or that is none at all."""
    seconds, nanos = stamp.seconds, stamp.nanos
    if not 0 <= seconds <= _LAST_MS // 1000 or not 0 <= nanos < NANOS:
        return None
    return seconds * 1000 + nanos // 1_000_000


def is_moment(ms: int) -> bool:
    """Whether all clients can read the timestamp of `ms`, milliseconds since 1970."""
    return _FIRST_MS <= ms <= _LAST_MS


def put_moment(stamp: m.Timestamp, ms: int) -> None:
    """Let `stamp` say `ms`, milliseconds since 1970; 1970 itself where that `is_moment` not."""
    if not _FIRST_MS <= ms <= _LAST_MS:
        ms = 0
    stamp.seconds = ms // 1000
    stamp.nanos = ms % 1000 * 1_000_000


def timestamp(ms: int) -> m.Timestamp:
    """The timestamp of `ms`, as by `put_moment`."""
    made = m.Timestamp()
    put_moment(made, ms)
    return made
