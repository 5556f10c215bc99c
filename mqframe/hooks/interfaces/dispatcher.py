"""Following dispatchers: consumers of a broker's commit log, fed beside the broker's queues and index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from mqframe.core.messages.message import ReceivedMessage


class LogRange(Protocol):
    """A stretch of the commit log, [start, end) in bytes, cut at record ends. Readable from any thread."""

    @property
    def start(self) -> int:
        """Commit-log offset of the first byte."""

    @property
    def end(self) -> int:
        """Commit-log offset after the last byte."""

    @property
    def commit_log_directory(self) -> Path:
        """Where the files of the log lie, each named by the 20 digits of its start offset."""

    @property
    def commit_log_file_bytes(self) -> int:
        """Size of each file, bytes."""

    def records(self) -> Iterator[ReceivedMessage]:
        """The messages in the stretch, in order, blank ends of files passed over."""


class Dispatcher(ABC):
    """Follows the log in a thread of its own, at its own pace; never delays a send.

    The broker keeps a cursor (a commit-log offset) for each dispatcher by its name and hands over ranges at
    least once: after a crash a range may come again, cut elsewhere. It may block.
    """

    name: str
    stretch_bytes_max: int | None = 8 << 20
    """Longest stretch it is handed, about. `None`: as long as a file of the log; what hands it over need not
    look for the ends of records then."""

    gather_seconds: float = 0.0
    """How long new messages are gathered, at least, once nearly all before them were handed over."""

    def start(self, data_directory: Path, broker_name: str) -> int | None:
        """Get ready; files of its own may lie below `data_directory`.

        Returns the offset up to which everything is known to be durable, where the dispatcher keeps that
        itself; `None` leaves it to the broker's cursor. When it raises, it is called again later.
        """
        return None

    @abstractmethod
    def dispatch(self, stretch: LogRange) -> int:
        """Take `stretch` in; returns the offset up to which all is durable (the cursor to keep)."""

    def taken(self, stretch: LogRange) -> int:
        """How far `stretch`, which was just dispatched, was taken in; the next one begins there.

        All of it, unless a dispatcher takes long stretches in parts; then the end of a record.
        """
        return stretch.end

    def idle(self) -> int | None:
        """Called about once a second when there is nothing new; may return a newer durable offset."""
        return None

    def stop(self) -> None:  # noqa: B027 - optional
        """Finish: no further call will come."""
