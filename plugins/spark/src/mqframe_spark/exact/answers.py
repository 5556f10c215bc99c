"""What a process of the sink answers when a broker asks how the transaction of a half message ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from mqframe.core.errors import MqframeError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.log import get_logger
from mqframe_spark.exact.commit_folder import Folder, open_folder
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.place import is_query
from mqframe_spark.exact.rules import SinkRecord, answer, name_of
from mqframe_spark.object_store_options import NONE, ObjectStoreOptions

log = get_logger("spark")

FRESH_SECONDS: Final = 1.0
"""A record is read again for an undecided half when it was read longer ago."""


class Lookup(Protocol):
    """Finds a message by its unique key."""

    def __call__(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """Raises as any call to a broker."""
        ...


class Answers:
    """Consults the records below `root`, in an object store by `store`. Any thread may ask.

    `lookup`: whether a single half has become a message already: Apache's brokers go on asking for the copy
    of a half that they asked for before its driver ended it.
    """

    def __init__(
        self,
        root: str,
        lookup: Lookup,
        store: ObjectStoreOptions = NONE,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._store = store
        self._folder: Folder | None = None
        self._lookup = lookup
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, SinkRecord | None]] = {}

    def check(self, half: ReceivedMessage) -> TransactionOutcome:
        """The outcome; UNKNOWN whenever anything is not as it should be: the broker asks again."""
        name = name_of(half.properties)
        if name is None or not is_query(name.query):
            log.warning("half message of another writer", message=half.message_id)
            return TransactionOutcome.UNKNOWN
        try:
            outcome = answer(self._cached(name.query), name)
            if outcome is TransactionOutcome.UNKNOWN:
                outcome = answer(self._read(name.query), name)
            if outcome is TransactionOutcome.COMMIT and p.HALF_BATCH not in half.properties:
                outcome = self._unless_there(half)
        except (MqframeError, OSError) as problem:
            log.warning("commit record cannot be read", root=self._root, reason=str(problem))
            return TransactionOutcome.UNKNOWN
        log.info("half message asked for", outcome=outcome.name, **name._asdict())
        return outcome

    def _cached(self, query: str) -> SinkRecord | None:
        with self._lock:
            return self._known.get(query, (0.0, None))[1]

    def _read(self, query: str) -> SinkRecord | None:
        with self._lock:
            now = self._monotonic()
            at, record = self._known.get(query, (-FRESH_SECONDS, None))
            if now - at >= FRESH_SECONDS:
                if self._folder is None:
                    self._folder = open_folder("commitPath", self._root, self._store)
                record = CommitRecord(self._folder.below(query)).read()
                self._known[query] = (now, record)
            return record

    def _unless_there(self, half: ReceivedMessage) -> TransactionOutcome:
        unique_key = half.properties.get(p.UNIQUE_KEY, "")
        found = self._lookup(half.topic, unique_key) if unique_key else None
        return TransactionOutcome.COMMIT if found is None else TransactionOutcome.ROLLBACK
