"""Where the record of a write lives, and the producer group that answers for it."""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Callable
from typing import Final

import attrs

from mqframe.core.errors import SettingError
from mqframe_spark.exact.commit_folder import absolute, open_folder
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.rules import LEFT_KEEP_MS
from mqframe_spark.object_store_options import NONE, ObjectStoreOptions
from mqframe_spark.sink.options import SinkOptions

STREAM: Final = "stream"
UNNAMED: Final = "unnamed-"
NAMED: Final = "named-"
_FOR_RECORDS: Final = "a folder that outlives the driver, which it can write and tasks can read"
_UNNAMED: Final = re.compile(rf"{UNNAMED}(\d{{1,18}})-[0-9a-f]+")
_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,150}")


def now_ms() -> int:
    """The time, ms since 1970."""
    return time.time_ns() // 1_000_000


@attrs.frozen
class CommitPlace:
    """`root`: the commit path, absolute; `query`: the folder in it that holds the record of one write.

    `store`: how an object store is reached.
    """

    root: str
    query: str
    store: ObjectStoreOptions = NONE

    def record(self) -> CommitRecord:
        """The record. Raises `SettingError` for a file system that nothing here opens."""
        return CommitRecord(open_folder("commitPath", self.root, self.store).below(self.query))


def is_query(name: str) -> bool:
    """Whether `name` may be the folder of a record; it comes from a message, and may be anything."""
    return _FOLDER.fullmatch(name) is not None


def stream_place(options: SinkOptions) -> CommitPlace:
    """That of a stream: `commitPath`, or `mqframe` in its checkpoint. Raises `SettingError`."""
    if options.commit_path:
        return CommitPlace(absolute("commitPath", options.commit_path), STREAM, options.store)
    if not options.checkpoint_location:
        raise SettingError(
            f"option exactlyOnce = 'true' needs option checkpointLocation, or commitPath: {_FOR_RECORDS}"
        )
    root = absolute("checkpointLocation", options.checkpoint_location)
    return CommitPlace(root.rstrip("/") + "/mqframe", STREAM, options.store)


def batch_place(options: SinkOptions, now_ms: Callable[[], int] = now_ms) -> CommitPlace:
    """That of a batch; one with a name finds again what was recorded under it. Raises `SettingError`."""
    if not options.commit_path:
        raise SettingError(f"option exactlyOnce = 'true' of a batch needs option commitPath: {_FOR_RECORDS}")
    root = absolute("commitPath", options.commit_path)
    if not options.query_name:
        return CommitPlace(root, f"{UNNAMED}{now_ms()}-{uuid.uuid4().hex}", options.store)
    query = NAMED + options.query_name
    if not is_query(query):
        raise SettingError(
            f"option queryName = {options.query_name!r}: must be letters, digits, '_', '.' and '-', 140 at "
            "most, for the record of the write has its name"
        )
    return CommitPlace(root, query, options.store)


def forget_unnamed(root: str, now: int, store: ObjectStoreOptions = NONE) -> None:
    """Remove records below `root` that no broker asks for any more, and no write can find. `now`: ms.

    Those of writes with a name stay: they say that it was written.
    """
    folder = open_folder("commitPath", root, store)
    for query in folder.names():
        found = _UNNAMED.fullmatch(query)
        if found and now - int(found[1]) > LEFT_KEEP_MS:
            CommitRecord(folder.below(query)).erase()
            folder.remove(query)


def group_of(options: SinkOptions, place: CommitPlace) -> str:
    """The producer group of all that write to, or answer for, `place`: one of its own unless one was given.

    Brokers ask any member of a group, so those of one should share a record.
    """
    if options.group:
        return options.group
    return f"SPARK_SINK_{hashlib.sha256(place.root.encode()).hexdigest()[:16]}"
