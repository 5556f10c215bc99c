"""What a store has to hold, whatever happened to its disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from indexed import LOG_READING
from mqframe_testing.manual_clock import ManualClock
from trust.life import HOST, IN_2100, KEYS_CHECKED, Sent, index_of, stepped_threads

from mqframe.core.codes import SysFlag
from mqframe.core.errors import StoreError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.property_crc import without_crc
from mqframe.core.storage.record import RecordError, decode_records
from mqframe.core.storage.recovery import Care
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

Place = tuple[str, int]
READS_MAX: Final = 100_000
UNGUARDED: Final = "a message has another head or other properties than it was sent with"
"""The kind of failure where no CRC tells: by default only bodies have one."""
UNCHECKED: Final = "a damaged record is delivered as it is"
"""The kind of failure where no CRC tells either: damage to the head or the properties of a record."""
GUARDED: Final = ", in spite of its CRC"
"""Behind these kinds where records have a CRC over all of them (`store.property_crc`): it has to tell."""
UNFOUND: Final = "a key is not found"
"""The kind of failure where a start sees no damage to the index: it looks at samples."""


class Broken(AssertionError):
    """A promise that was not kept. `kind`: which, in a few words that count alike cases together."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


def read_all(store: MessageStore, place: Place, start: int = 0) -> list[ReceivedMessage]:
    """All messages of a queue from `start` on, as a consumer that goes where it is told gets them."""
    messages: list[ReceivedMessage] = []
    offset = start
    for _ in range(READS_MAX):
        found = store.reads.get(*place, offset, 32)
        try:
            messages += [message for part in found.parts for message in decode_records(part)]
        except RecordError as problem:
            raise Broken("a reader gets what is no record", f"{place} at {offset}: {problem}") from problem
        if found.next_offset <= offset and found.status is not GetStatus.OFFSET_OVERFLOW_BADLY:
            return messages
        if found.status is GetStatus.OFFSET_OVERFLOW_BADLY:
            raise Broken("a reader is beyond the end", f"{place} at {offset}, the end is {found.max_offset}")
        offset = found.next_offset
        if offset >= found.max_offset:
            return messages
    raise Broken("a reader never comes to the end", f"{place}, at {offset}")


def is_same(message: ReceivedMessage, sent: Sent) -> bool:
    return (
        message.topic == sent.topic
        and message.queue_id == sent.queue_id
        and message.queue_offset == sent.queue_offset
        and message.stored_body == sent.body
        and not message.sys_flag & SysFlag.COMPRESSED
        and without_crc(encode_properties(message.properties)) == sent.properties
    )


class Told(logging.Handler):
    """What the log says meanwhile. `warnings`: its warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.warnings.append(record.getMessage())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen for as long as this lasts."""
        logger = logging.getLogger("mqframe")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)


class StoreCheck:
    """Opens a store and compares it with what was promised of it.

    `kept`: messages that must be there; `stored`: all that may be there, by topic, queue and offset;
    `excused`: whether a message may be lost, as long as somebody is told. `decided`: whether the store was
    told to start although something might be lost.
    """

    def __init__(
        self,
        settings: StoreSettings,
        kept: list[Sent],
        stored: dict[tuple[str, int, int], list[Sent]],
        excused: Callable[[Sent], bool] = lambda sent: False,
    ) -> None:
        self._settings = settings
        self._excused = excused
        self._told = Told()
        self.decided = False
        self._kept = kept
        self._stored = stored
        self._damaged = {sent.start for sent in kept if excused(sent)}
        self._bodies = {sent.body for each in stored.values() for sent in each}
        self._new: dict[tuple[str, int, int], Sent] = {}
        self._places = sorted({place[:2] for place in stored})
        self._clock = ManualClock(IN_2100 + 10**9)

    def _guarded(self, kind: str) -> str:
        return kind + GUARDED if self._settings.property_crc else kind

    def run(self, chance: Random) -> None:
        """Raises `Broken`."""
        with stepped_threads(), self._told.listening():
            store = self._open()
            try:
                self._what_is_there(store)
                self._keys(store, chance)
                self._new_messages(store)
            except BaseException:
                store.abandon()
                raise
            if chance.random() < 0.6:
                asyncio.run(store.stop())
            else:
                store.abandon()
            store = self._open()
            try:
                self._what_is_there(store)
            finally:
                store.abandon()

    def _open(self) -> MessageStore:
        try:
            store = self._open_or_decide()
        except Exception as problem:
            raise Broken("the store does not start", f"{type(problem).__name__}: {problem}") from problem
        store.start()
        store.dispatch.now()
        return store

    def _open_or_decide(self) -> MessageStore:
        try:
            return MessageStore.open(
                self._settings,
                self._clock,
                open_index=index_of(self._settings),
                log_reading=LOG_READING,
            )
        except StoreError as problem:
            # Only damage, never a loss of power, may leave it open whether something is lost.
            if type(problem) is StoreError or not any(map(self._excused, self._kept)):
                raise
        self.decided = True
        return MessageStore.open(
            self._settings,
            self._clock,
            care=Care.ACCEPT_LOSS,
            open_index=index_of(self._settings),
            log_reading=LOG_READING,
        )

    def _what_is_there(self, store: MessageStore) -> None:
        found: dict[tuple[str, int, int], ReceivedMessage] = {}
        for place in self._places:
            for message in read_all(store, place):
                self._is_no_garbage(message, place)
                found[*place, message.queue_offset] = message
        for sent in self._kept:
            message = found.get(sent[:3])
            if message is not None and is_same(message, sent):
                continue
            if self._excused(sent):
                if not self._told.warnings and self._is_told(sent):
                    raise Broken("a loss is not told", f"{sent[:3]} at {sent.start} to {sent.end}")
                continue
            if message is None:
                where = f"{store.log.min_offset} to {store.log.max_offset}"
                queue = f"{store.queues.min_offset(*sent[:2])} to {store.queues.max_offset(*sent[:2])}"
                raise Broken(
                    "a message that was kept is lost",
                    f"{sent[:3]} at {sent.start} to {sent.end}; the log has {where}, the queue {queue}",
                )
            raise Broken("another message is where one was kept", f"{sent[:3]} at {sent.start}")

    def _is_told(self, lost: Sent) -> bool:
        """Whether a loss has to be told: zeros at the end of a log may never have been anything else."""
        return any(sent.start > lost.start and not self._excused(sent) for sent in self._kept)

    def _is_no_garbage(self, message: ReceivedMessage, place: Place) -> None:
        where = (*place, message.queue_offset)
        candidates = [*self._stored.get(where, ()), *([self._new[where]] if where in self._new else [])]
        if any(is_same(message, sent) for sent in candidates):
            return
        if message.commit_log_offset in self._damaged:
            raise Broken(
                self._guarded(UNCHECKED), f"{place} {message.queue_offset}: {message.stored_body[:20]!r}"
            )
        if message.stored_body in self._bodies:
            raise Broken(
                self._guarded(UNGUARDED), f"{place} {message.queue_offset}: {message.stored_body[:20]!r}"
            )
        raise Broken(
            "a message was never sent so", f"{place} {message.queue_offset}: {message.stored_body[:20]!r}"
        )

    def _keys(self, store: MessageStore, chance: Random) -> None:
        there = [sent for sent in self._kept if not self._excused(sent)]
        for sent in chance.sample(there, min(KEYS_CHECKED, len(there))):
            records = store.search.query(sent.topic, sent.key, 64).records
            found = [message for record in records for message in decode_records(record)]
            if not any(is_same(message, sent) for message in found):
                raise Broken(UNFOUND, f"{sent.key} of {sent[:3]} at {sent.start}")

    def _new_messages(self, store: MessageStore) -> None:
        """What is sent from now on comes to those who have read all that was kept.

        They are taken back to the queue's end where it lies before what they had read: so is the progress of
        groups when a broker starts.
        """
        progress: dict[Place, int] = {}
        for sent in self._kept:
            place = sent[:2]
            progress[place] = max(progress.get(place, 0), sent.queue_offset + 1)
        progress = {place: min(offset, store.queues.max_offset(*place)) for place, offset in progress.items()}
        new: dict[Place, list[Sent]] = {}
        for number in range(2):
            for place in self._places:
                new.setdefault(place, []).append(self._send(store, place, number))
        confirm(store)
        for place, sent_now in new.items():
            messages = read_all(store, place, progress.get(place, 0))
            for sent in sent_now:
                if sent.queue_offset < progress.get(place, 0):
                    raise Broken("a new message has an offset that was used", f"{sent[:3]}")
                if not any(is_same(message, sent) for message in messages):
                    raise Broken("a new message is not received", f"{sent[:3]} from {progress.get(place, 0)}")
        self._kept = [*self._kept, *(sent for each in new.values() for sent in each)]

    def _send(self, store: MessageStore, place: Place, number: int) -> Sent:
        body = f"new {number} for {place}".encode() * 7
        properties = f"KEYS\x01new{number}\x02"
        try:
            stored = store.writes.put(Incoming(*place, body, properties, 1, HOST, HOST))
        except Exception as problem:
            raise Broken("a new message is refused", f"{type(problem).__name__}: {problem}") from problem
        sent = Sent(
            *place, stored.queue_offset, body, properties, stored.commit_log_offset, stored.end_offset
        )
        self._new[sent[:3]] = sent
        return sent


def confirm(store: MessageStore) -> None:
    """Have everything flushed and dispatched."""
    answers: list[bool] = []
    store.confirming.when_confirmed(store.log.max_offset, answers.append)
    threads: Any = store._threads
    while threads.jobs:
        threads.step()
    store.dispatch.now()
    if answers != [True]:
        raise Broken("new messages are not confirmed", repr(answers))
