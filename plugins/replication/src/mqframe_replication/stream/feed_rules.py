"""What differs among those whose log is copied: whom they take, what they say, and what reports mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqframe_replication.rules.feed import Feed, Framing, PlainFraming
from mqframe_replication.rules.hello import Hello, Welcome


class LogSource(Protocol):
    """A log that is sent: as `LogOffsets`."""

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept, bytes."""

    @property
    def max_offset(self) -> int:
        """Log offset behind the last record, bytes."""

    def log_bytes(self, offset: int, size: int) -> memoryview | None:
        """`size` bytes from `offset` on, within one file; `None` where they are not (any more) there."""


class FeedRules(Protocol):
    """The rules of a `Feeding`. `hello`: what a slave said; `None`: it is a plain one."""

    def objection(self, hello: Hello | None) -> str:
        """Why a slave that is admitted cannot come in now, a sentence; empty: nothing is against it."""

    def welcome(self, hello: Hello) -> Welcome:
        """What is said to a slave that comes in."""

    def framing(self, hello: Hello | None) -> Framing:
        """How it is sent the log."""

    def joined(self, hello: Hello | None) -> None:
        """It is connected."""

    def heard(self, hello: Hello | None, feed: Feed) -> float | None:
        """It has said how far it is, as `feed` knows.

        In how many seconds all are to be sent what is new for them besides the log; `None`: nothing is.
        """

    def left(self, hello: Hello | None) -> None:
        """It is gone."""


class MasterRules:
    """The `FeedRules` of a master, which takes any slave that is admitted.

    `on_report` is called when a slave told how far it is, or left.
    """

    def __init__(self, source: LogSource, on_report: Callable[[], object]) -> None:
        self._source = source
        self._on_report = on_report

    def objection(self, hello: Hello | None) -> str:
        """As `FeedRules.objection`: there is none."""
        return ""

    def welcome(self, hello: Hello) -> Welcome:
        """As `FeedRules.welcome`: where the log begins and ends."""
        return Welcome(start=self._source.min_offset, end=self._source.max_offset)

    def framing(self, hello: Hello | None) -> Framing:
        """As `FeedRules.framing`."""
        return PlainFraming()

    def joined(self, hello: Hello | None) -> None:
        """As `FeedRules.joined`: it counts when it reports."""

    def heard(self, hello: Hello | None, feed: Feed) -> None:
        """As `FeedRules.heard`."""
        self._on_report()

    def left(self, hello: Hello | None) -> None:
        """As `FeedRules.left`."""
        self._on_report()
