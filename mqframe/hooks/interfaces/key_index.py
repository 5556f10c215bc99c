"""An index of keys: what a store keeps beside its queues, in step with them, to find messages by their keys.

Unlike a following dispatcher it is fed in the turn of the broker's loop that lists messages in their queues,
and knows no record that queues do not know. A broker service brings one: its factory names a `KeyIndexing` in
the attribute `KeyIndexing`. Slaves have it as well as masters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mqframe.core.storage.log_scan import LogRecord

NotedFile = tuple[str, int, int]
"""Name of a file, number of its next entry, log offset of its last record."""


class KeyQuery(NamedTuple):
    """Asks for the newest records of `topic` with `key`, stored from `begin_ms` to `end_ms` (since 1970).

    `most`: how many; `unique`: only records whose unique id it is.
    """

    topic: str
    key: str
    most: int
    begin_ms: int
    end_ms: int
    unique: bool


class QueryFound(NamedTuple):
    """Records with a key, newest first; how far the index reaches (ms, bytes)."""

    records: list[bytes]
    last_timestamp: int
    last_offset: int


class RecordLookup(Protocol):
    """Finds a record of the log by where it begins."""

    def __call__(self, offset: int, /) -> tuple[LogRecord, memoryview] | None:
        """The record at log `offset`, with its bytes; `None` when none begins there."""


class KeyIndexPlace(NamedTuple):
    """Where an index is. `directory`: of the store; `allocate`: reserves bytes of an open file."""

    directory: Path
    allocate: Callable[[int, int], None]
    now_ms: Callable[[], int]


class RecoveredLog(Protocol):
    """The log as a start has found it, its end not known yet."""

    @property
    def log_start(self) -> int:
        """Log offset of the first record."""

    def record(self, offset: int) -> LogRecord | None:
        """The record that begins at log `offset`; its body is not checked."""

    def file_start(self, offset: int) -> int | None:
        """Log offset at which the file with `offset` begins; `None` where there is none."""

    def heads(self) -> Iterator[LogRecord]:
        """Samples: the first records of some files of the log, before what is listed anew anyway."""


class KeyFile(Protocol):
    """A file that is to be on disk."""

    path: Path

    def sync(self) -> None:
        """Wait until it is; in a thread. Raises OSError."""


class TakesKeys(Protocol):
    """What keys are entered into."""

    @property
    def repeat_from(self) -> int:
        """Log offset before which all is indexed; what is added again from there is passed over."""

    def add(self, topic: str, indexed: Sequence[tuple[int, Sequence[str]]], timestamp: int) -> None:
        """Take records of `topic`, all stored at `timestamp` (ms), as (log offset, keys). Raises OSError.

        They come in the order of the log. What an error interrupted comes again.
        """

    def write(self) -> None:
        """Put what was taken into the files, for `query` and for a process that goes on after a kill.

        Raises OSError; may be repeated.
        """


class KeyIndex(TakesKeys, Protocol):
    """The index of one open store. Everything is called in the loop of the store unless it says otherwise.

    A start opens it, has it `recover`, adds the records from there on that the log holds, and calls `rewind`
    with the log's end.
    """

    def recover(self, log: RecoveredLog, noted: Sequence[NotedFile], start: int, *, torn: bool) -> int | None:
        """Drop what is not right; the log offset from which records have to be added again, `None`: `start`.

        `noted`: what `rows` said when it was last on disk; `start`: from there records are added again
        anyway. `torn`: of what was written of them, the disk may hold any part. In any thread. Raises
        OSError.
        """

    def rewind(self, log_offset: int) -> None:
        """Take back records at or past `log_offset`. In any thread. Raises OSError."""

    def rows(self) -> list[NotedFile]:
        """What is noted of the files for the next start, once they are on disk."""

    def due(self, *, thorough: bool) -> Sequence[KeyFile]:
        """Which files have to get to disk: those that became full; with `thorough` all that changed."""

    def synced(self, files: Sequence[KeyFile]) -> int | None:
        """These are on disk. Store time (ms) of the last record in those that became full, for the
        checkpoint; `None`: there is none among them."""

    def follow_log(self, log_start: int) -> int:
        """Delete files with nothing of the log, which begins at `log_start`; how many went.

        Raises OSError.
        """

    def query(self, asked: KeyQuery, find: RecordLookup) -> QueryFound:
        """What is asked for. An operator waits, and the loop with him: look at so many records, no more."""

    def close(self) -> None:
        """Close the files; nothing is written. In any thread."""


class KeyIndexing(ABC):
    """Opens the index of a store. A service's factory names its class in the attribute `KeyIndexing`.

    One is made for each start of a broker, with the section of the service's settings, `None` where it has
    none.
    """

    def __init__(self, settings: Any) -> None:
        """`settings`: an instance of the factory's `Settings`."""
        self.settings = settings

    @abstractmethod
    def open(self, place: KeyIndexPlace) -> KeyIndex | None:
        """The index of the store there, made where there is none; `None`: none is kept. Raises OSError.

        In any thread.
        """


OpenIndex = Callable[[KeyIndexPlace], KeyIndex | None]
"""What a store is told to open its index with."""
