"""Following dispatchers: each in a thread of its own, with its own persisted cursor."""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from mqframe.core.errors import StoreError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.log_scan import record_end
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces.dispatcher import Dispatcher
from mqframe.log import get_logger
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import file_name
from mqframe.store.log.commit_log import CommitLog

log: Final = get_logger("store")
_IDLE_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 1.0
_RETRY_SECONDS_MAX: Final = 60.0
_GATHERED_BYTES: Final = 1 << 20
"""A dispatcher that is behind by more is not made to wait."""


class FileRange:
    """[start, end) of the log, within one file, readable from any thread (a `LogRange`)."""

    def __init__(self, start: int, end: int, directory: Path, file_bytes: int, broker_name: str = "") -> None:
        self.start = start
        self.end = end
        self.commit_log_directory = directory
        self.commit_log_file_bytes = file_bytes
        self._broker_name = broker_name

    def records(self) -> Iterator[ReceivedMessage]:
        """The messages in the stretch, in order."""
        base = self.start - self.start % self.commit_log_file_bytes
        with open(self.commit_log_directory / file_name(base), "rb") as file:
            file.seek(self.start - base)
            data = file.read(self.end - self.start)
        at = 0
        while at + 8 <= len(data) and data[at + 4 : at + 8] != b"\xcb\xd4\x31\x94":
            message = decode_record(data, at, self._broker_name)
            yield message
            at += message.store_size


class Cursors:
    """Cursors of following dispatchers by name, log bytes, in one file. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._file = ConfigFile(path)
        self._lock = threading.Lock()
        self._offsets: dict[str, int] = self._file.load(_decode) or {}

    def get(self, name: str) -> int | None:
        """The cursor of `name`; `None` when it is new."""
        return self._offsets.get(name)

    def set(self, name: str, offset: int) -> None:
        """Keep `offset` for `name`, durably."""
        with self._lock:
            self._offsets[name] = offset
            self._file.save(json.dumps({"offsetTable": self._offsets}, indent="\t").encode())


def _decode(raw: bytes) -> dict[str, int]:
    table = json.loads(raw)["offsetTable"]
    return {str(name): int(offset) for name, offset in table.items()}


class Follower(threading.Thread):
    """Hands [cursor, `limit()`) of `log` to `dispatcher`, in stretches, for as long as it is not stopped.

    `limit`: log offset up to which records may be shown, bytes.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        cursors: Cursors,
        log: CommitLog,
        limit: Callable[[], int],
        broker_name: str,
    ) -> None:
        super().__init__(name=f"mqframe-follow-{dispatcher.name}", daemon=True)
        self._dispatcher = dispatcher
        self._cursors = cursors
        self._log = log
        self._directory = log.directory
        self._file_bytes = log.file_bytes
        self._broker_name = broker_name
        self._limit = limit
        self._wake = threading.Event()
        self._pause = threading.Event()
        self._ending = False
        # What lay behind was lost in a crash; what is stored there from now on is new.
        self._end_at_start = log.end
        self._saved = cursors.get(dispatcher.name) or 0
        self.cursor = self._existing(self._saved)
        self.save()
        # How far stretches were handed over: ahead of the cursor while the dispatcher gathers what it took.
        self._handed = self.cursor

    def wake(self) -> None:
        """There is something new."""
        if not self._wake.is_set():
            self._wake.set()

    def end(self) -> None:
        """Ask the thread to finish the stretch under way and stop."""
        self._ending = True
        self._pause.set()
        self._wake.set()

    def run(self) -> None:
        """The thread."""
        started, pause = False, _RETRY_SECONDS
        while not self._ending:
            try:
                if not started:
                    self._start()
                    started, pause = True, _RETRY_SECONDS
                    continue
                busy = self._step()
            except Exception:
                # A plugin's failure stays with the plugin. At least once: what is not durable comes again.
                self._handed = self.cursor
                failed = "dispatcher failed; the stretch comes again"
                unstarted = "dispatcher could not be started; that is tried again"
                log.exception(failed if started else unstarted, dispatcher=self._dispatcher.name)
                self._pause.wait(pause)
                pause = min(2 * pause, _RETRY_SECONDS_MAX)
                continue
            pause = _RETRY_SECONDS
            if not busy:
                self._wake.wait(_IDLE_SECONDS)
                self._wake.clear()
            elif self._limit() - self._handed < _GATHERED_BYTES:
                # A call for each message would take the broker's time, in whose process this thread is.
                self._pause.wait(self._dispatcher.gather_seconds)
        if not started:
            return
        try:
            self._dispatcher.stop()
        except Exception:
            # A plugin's failure stays with the plugin; what it has not kept comes again at the next start.
            log.exception("dispatcher could not be stopped in good order", dispatcher=self._dispatcher.name)

    def _start(self) -> None:
        own = self._dispatcher.start(self._directory.parent, self._broker_name)
        if own is not None:
            self._keep(self._existing(own))
        self._handed = self.cursor

    def _existing(self, cursor: int) -> int:
        if cursor > self._end_at_start:
            log.warning(
                "dispatcher is ahead of the log, which lost records in a crash; it goes on at the log's end",
                dispatcher=self._dispatcher.name, cursor=cursor, end=self._end_at_start,
            )  # fmt: skip
        return min(cursor, self._end_at_start)

    def _step(self) -> bool:
        self.save()
        start = self._handed
        oldest = self._log.start
        if start < oldest:
            log.warning(
                "dispatcher missed deleted records",
                dispatcher=self._dispatcher.name,
                cursor=start,
                start=oldest,
            )
            start = oldest
        stretch = self._stretch(start, self._limit())
        if stretch is None:
            newer = self._dispatcher.idle()
            if newer is not None:
                self._keep(newer)
            return False
        self._keep(self._dispatcher.dispatch(stretch))
        self._handed = self._dispatcher.taken(stretch)
        return self._handed > start

    def _stretch(self, start: int, limit: int) -> FileRange | None:
        if limit <= start:
            return None
        base = start - start % self._file_bytes
        room = min(limit - base, self._file_bytes)
        most = self._dispatcher.stretch_bytes_max
        if most is None:
            return self._range(start, base + room)
        with (
            open(self._directory / file_name(base), "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
            memoryview(content) as view,
        ):
            end = record_end(view, start - base, min(room, start - base + most))
            if end == start - base:
                # The next record alone is longer than a stretch.
                end = record_end(view, start - base, room)
        return self._range(start, base + end) if base + end > start else None

    def _range(self, start: int, end: int) -> FileRange:
        return FileRange(start, end, self._directory, self._file_bytes, self._broker_name)

    def _keep(self, cursor: int) -> None:
        self.cursor = cursor
        self.save()

    def save(self) -> None:
        """Save the cursor, as far as the log is on disk; what is behind follows with a later call."""
        durable = min(self.cursor, self._log.flushed)
        if durable != self._saved:
            self._cursors.set(self._dispatcher.name, durable)
            self._saved = durable


class Followers:
    """All following dispatchers of one store, by name. `limit`: as for `Follower`; any thread asks."""

    def __init__(self, cursors: Path, log: CommitLog, limit: Callable[[], int]) -> None:
        self._cursors = Cursors(cursors)
        self._log = log
        self._limit = limit
        self._started = False
        self._followers: dict[str, Follower] = {}

    def add(self, dispatcher: Dispatcher, broker_name: str = "") -> None:
        """Feed `dispatcher` from its own cursor on, in a thread of its own.

        Raises `StoreError` when its name is taken.
        """
        name = dispatcher.name
        if name in self._followers:
            raise StoreError(f"two dispatchers are named {name!r}: give one another name")
        self._followers[name] = Follower(dispatcher, self._cursors, self._log, self._limit, broker_name)
        if self._started:
            self._followers[name].start()

    def start(self) -> None:
        """Start the threads, of those that are added later, too."""
        if not self._started:
            self._started = True
            for follower in self._followers.values():
                follower.start()

    def wake(self) -> None:
        """There is something new."""
        for follower in self._followers.values():
            follower.wake()

    def end(self) -> None:
        """Ask the threads to finish the stretches under way and stop."""
        for follower in self._followers.values():
            follower.end()

    def join(self) -> None:
        """Wait until the threads have ended."""
        for follower in self._followers.values():
            if follower.is_alive():
                follower.join()

    def save_cursors(self) -> None:
        """Save all cursors once more, the threads having ended and the log being flushed. Raises OSError."""
        for follower in self._followers.values():
            follower.save()

    def cursors(self) -> dict[str, int]:
        """How far each dispatcher is, log bytes, by name."""
        return {name: follower.cursor for name, follower in self._followers.items()}
