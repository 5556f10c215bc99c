"""Messages that are stored, or refused."""

from __future__ import annotations

from typing import NoReturn, Protocol

from mqframe.core.errors import StoreUnavailable
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.store.appending.appender import Appender
from mqframe.store.appending.dispatching import Dispatching
from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.incoming import Incoming
from mqframe.store.log.commit_log import CommitLog


class Writes(Protocol):
    """What stores messages; in a copy it does not."""

    def put(self, incoming: Incoming) -> Stored:
        """Append one message.

        Raises `MessageError` for a message that is too large, `StoreUnavailable` when the disk is full or the
        store stopped.
        Consumers see it after a dispatch, once it is confirmed.
        """
        ...

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Append the messages of a batch (wire.md §6) to the queue of `head`, all or none.

        `extra_properties`, in text form, go behind those of each message. Raises as `put`, and `BodyError`
        for a malformed batch.
        """
        ...

    def make_room(self, size: int) -> None:
        """See that `size` bytes fit the current log file, so that what is stored next lies in one file.

        Raises as `put`; what is stored now, and takes no more than that, is refused for itself only.
        """


class OwnWrites:
    """Appends messages, unless there is a refusal."""

    def __init__(
        self, appender: Appender, log: CommitLog, refusals: WriteRefusals, dispatch: Dispatching
    ) -> None:
        self._append, self._append_batch = appender.put, appender.put_batch
        self._log = log
        self._refusals = refusals
        self._dispatch = dispatch
        # Asked with each message.
        self._durability, self._space = refusals.durability, refusals.space
        self._inline, self._replicas = refusals.dispatch, refusals.replicas

    def put(self, incoming: Incoming) -> Stored:
        """As `Writes.put`."""
        if (
            self._space.refusal
            or self._inline.failure
            or self._durability.failure
            or self._refusals.closed
            or (self._replicas is not None and self._replicas.refusal())
        ):
            self._refuse()
        return self._append(incoming)

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """As `Writes.put_batch`."""
        if self._refusals.now() is not None:
            self._refuse()
        return self._append_batch(head, memoryview(batch), extra_properties)

    def make_room(self, size: int) -> None:
        """As `Writes.make_room`."""
        if self._refusals.now() is not None:
            self._refuse()
        self._log.room(size)

    def _refuse(self) -> None:
        self._dispatch.now()
        refusal = self._refusals.now()
        if refusal is not None:
            raise refusal


class NoWrites:
    """Refuses all messages: those of a copy come with its master's log."""

    def put(self, incoming: Incoming) -> Stored:
        """Raises `StoreUnavailable`."""
        _refuse()

    def put_batch(
        self, head: Incoming, batch: bytes | memoryview, extra_properties: bytes = b""
    ) -> StoredBatch:
        """Raises `StoreUnavailable`."""
        _refuse()

    def make_room(self, size: int) -> None:
        """Raises `StoreUnavailable`."""
        _refuse()


def _refuse() -> NoReturn:
    raise StoreUnavailable("this broker is a slave and stores only what its master does: send to the master")
