"""Topics that were deleted while the log still holds their records, which must not come back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

from mqframe.core.storage.log_scan import LogRecord
from mqframe.store.files.config_file import ConfigFile


class DeletedTopics:
    """Topics with the log offset at which they were deleted: records before it belong to no queue."""

    def __init__(self, path: Path) -> None:
        self._file = ConfigFile(path)
        self._lock = threading.Lock()
        self._offsets = self._file.load(_decode) or {}

    def __bool__(self) -> bool:
        return bool(self._offsets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def offset(self, topic: str) -> int:
        """Log offset before which nothing of `topic` counts; 0 when it was not deleted."""
        return self._offsets.get(topic, 0)

    @property
    def newest(self) -> int:
        """Log offset from which on no record belongs to a deleted topic."""
        return max(self._offsets.values(), default=0)

    def owns(self, record: LogRecord) -> bool:
        """Whether `record` belongs to a topic that was deleted after it was stored."""
        return record.physical_offset < self._offsets.get(record.topic, 0)

    def add(self, topic: str, log_start: int, log_end: int) -> None:
        """`topic` is deleted, durably and at once. Those go that the log, from `log_start` on, knows no more.

        May run in a thread. Raises OSError.
        """
        with self._lock:
            kept = {name: offset for name, offset in self._offsets.items() if offset > log_start}
            self._offsets = kept | {topic: log_end}
            self._save()

    def cut(self, log_end: int) -> None:
        """The log ends at `log_end` now: what is stored behind it belongs to its topic. Raises OSError."""
        with self._lock:
            if any(offset > log_end for offset in self._offsets.values()):
                self._offsets = {name: min(offset, log_end) for name, offset in self._offsets.items()}
                self._save()

    def _save(self) -> None:
        self._file.save(json.dumps({"deletedTopics": self._offsets}, indent="\t").encode())


def _decode(raw: bytes) -> dict[str, int]:
    table = json.loads(raw)["deletedTopics"]
    return {str(name): int(offset) for name, offset in table.items()}
