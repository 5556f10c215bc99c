"""The dispatcher `parquet`: stored messages as files that Spark reads natively.

Exactness without a journal: messages of one slot (topic and day) come in the order of the log, so the newest
published file of a slot says which of them are done, whatever is handed over again after a crash. Nothing is
reported as durable before its file has its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import attrs

from mqframe.core.errors import GiveUpError
from mqframe.core.message import ReceivedMessage
from mqframe.core.settings import at_least, setting, settings
from mqframe.core.topics import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqframe.hooks.interfaces import Dispatcher, LogRange
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe_spark.columns import Columns
from mqframe_spark.parquet_files import ParquetFolder, Slot, store_id

log = get_logger("spark")

_DAY_MS: Final = 86_400_000


@attrs.define
class Waiting:
    """Messages of one slot that no file holds yet: their stretch of the log and the time (s) of the first."""

    columns: Columns
    start: int
    end: int
    since: float


class ParquetDispatcher(Dispatcher):
    """Writes the messages of chosen topics into Parquet files, one folder for each topic and day.

    A slot is published when it has enough rows or bytes, or has waited long enough; when all together take
    too much memory, the largest goes first. `monotonic`: seconds, from an arbitrary start.
    """

    name = "parquet"

    @settings("plugins.parquet")
    class Options:
        """Which topics, where to, and how large files become."""

        topics: tuple[str, ...] = setting(
            (), doc="topics to write; none: all but those of the system, retries and dead letters"
        )
        path: Path | None = setting(
            None, doc="folder for the files; none: parquet in the broker's data folder"
        )
        roll_rows: int = setting(1_000_000, doc="messages of one file at most", check=at_least(1))
        roll_bytes: int = setting(
            128 * 1024 * 1024, doc="size of a file before compression, about, bytes", check=at_least(1)
        )
        roll_seconds: float = setting(
            60.0, doc="how long a message waits for its file at most, s", check=at_least(0)
        )
        buffered_bytes_max: int = setting(
            512 * 1024 * 1024, doc="messages of all topics held in memory at most, bytes", check=at_least(1)
        )
        compression: Literal["zstd", "snappy", "gzip", "none"] = setting("zstd", doc="of the files")

    def __init__(
        self, options: Options | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._options = options or self.Options()
        self._topics = frozenset(self._options.topics)
        self._monotonic = monotonic
        self._broker = ""
        self._folder: ParquetFolder | None = None
        self._published: dict[Slot, int] = {}
        self._waiting: dict[Slot, Waiting] = {}
        self._buffered_bytes = 0
        self._taken_end = 0

    def start(self, data_directory: Path, broker_name: str) -> int | None:
        """Look which messages are published already. The broker keeps the cursor."""
        root = self._options.path or data_directory / "parquet"
        self._broker = broker_name
        self._folder = ParquetFolder(root, broker_name, store_id(data_directory), self._options.compression)
        self._published = self._folder.published()
        return None

    def dispatch(self, stretch: LogRange) -> int:
        """Take in what is new in `stretch`, publish what is large or old enough. Raises `OSError`."""
        for message in stretch.records():
            # What an earlier call took in before it failed, or was handed over twice, is passed over here.
            if message.commit_log_offset >= self._taken_end:
                self._make_room()
                self._take(message)
        self._taken_end = max(self._taken_end, stretch.end)
        return self._roll()

    def idle(self) -> int | None:
        """Publish what has waited long enough."""
        return self._roll() if self._waiting else None

    def stop(self) -> None:
        """Publish the rest, so that a stopped broker leaves nothing for its next start."""
        for slot in list(self._waiting):
            self._publish(slot)

    def _wanted(self, topic: str) -> bool:
        if self._topics:
            return topic in self._topics
        return not is_system_topic(topic) and not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))

    def _take(self, message: ReceivedMessage) -> None:
        start = message.commit_log_offset
        end = start + message.store_size
        slot = Slot(message.topic, _day(message.store_timestamp // _DAY_MS))
        if self._wanted(message.topic) and start >= self._published.get(slot, 0):
            waiting = self._waiting.get(slot)
            if waiting is None:
                waiting = Waiting(Columns(self._broker), start, end, self._monotonic())
                self._waiting[slot] = waiting
            before = waiting.columns.size_bytes
            waiting.columns.add(message, _body(message))
            waiting.end = end
            self._buffered_bytes += waiting.columns.size_bytes - before
            if self._full(waiting.columns):
                self._taken_end = end  # before publishing, which may fail
                self._publish(slot)
        self._taken_end = end

    def _full(self, columns: Columns) -> bool:
        return columns.rows >= self._options.roll_rows or columns.size_bytes >= self._options.roll_bytes

    def _make_room(self) -> None:
        while self._buffered_bytes >= self._options.buffered_bytes_max:
            self._publish(max(self._waiting, key=lambda slot: self._waiting[slot].columns.size_bytes))

    def _roll(self) -> int:
        """Publish what is due; gives the offset before which everything is durable."""
        due = self._monotonic() - self._options.roll_seconds
        for slot, waiting in list(self._waiting.items()):
            if waiting.since <= due or self._full(waiting.columns):
                self._publish(slot)
        return min((waiting.start for waiting in self._waiting.values()), default=self._taken_end)

    def _publish(self, slot: Slot) -> None:
        assert self._folder is not None, "start was not called"
        waiting = self._waiting[slot]
        size = waiting.columns.size_bytes
        path = self._folder.publish(slot, waiting.start, waiting.end, waiting.columns.batch())
        # Only now is it safe to forget them: a publication that failed is tried again with the next call.
        del self._waiting[slot]
        self._buffered_bytes -= size
        log.debug("published", path=str(path), start=waiting.start, end=waiting.end)


def _body(message: ReceivedMessage) -> bytes | None:
    """The plain body; `None`, with a warning, when it is damaged: one message must not hold up all others."""
    try:
        return message.body
    except GiveUpError as problem:
        log.warning("body left out", message=repr(message), reason=str(problem))
        return None


@lru_cache(maxsize=16)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, UTC).strftime("%Y-%m-%d")


@hookimpl
def register_dispatchers() -> Factories:
    """The one."""
    return {ParquetDispatcher.name: ParquetDispatcher}
