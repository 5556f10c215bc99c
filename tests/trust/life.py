"""A life of a store by a seed: sends, flushes, clean-ups, orderly stops and kills, with what it promised."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import attrs
from indexed import LOG_READING, small_index
from mqframe_testing.manual_clock import ManualClock
from trust.threads import SteppedThreads

from mqframe.core.errors import MqframeError
from mqframe.core.messages.batch import encode_element
from mqframe.hooks.interfaces.key_index import OpenIndex
from mqframe.store import recovered_store
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

HOST: Final = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
IN_2100: Final = 4_102_444_800_000
"""All files but the last are old enough then to be cleaned away."""
KEYS_CHECKED: Final = 40


class Sent(NamedTuple):
    """A message as it was handed over, and where it was put: log offsets in bytes."""

    topic: str
    queue_id: int
    queue_offset: int
    body: bytes
    properties: str
    start: int
    end: int

    @property
    def key(self) -> str:
        return self.properties.partition("KEYS\x01")[2].partition("\x02")[0]


class Stored(NamedTuple):
    """A promise: this message is in the log (it is not acknowledged yet)."""

    sent: Sent


class Acknowledged(NamedTuple):
    """A promise: this message stays."""

    sent: Sent


class Flushed(NamedTuple):
    """A promise: everything before log offset `end` stays."""

    end: int


class Cleaning(NamedTuple):
    """No promise: from now on what lies before log offset `start` may go; `None` means not known yet."""

    start: int | None


def small_settings(directory: Path, seed: int) -> StoreSettings:
    """Settings with which files end and go often."""
    chance = Random(f"settings {seed}")
    return StoreSettings(
        directory=directory,
        commit_log_file_bytes=chance.choice((8192, 16384, 65536)),
        queue_file_bytes=chance.choice((400, 2000, 8000)),
        flush=chance.choice(("SYNC_FLUSH", "SYNC_FLUSH", "ASYNC_FLUSH")),
        flush_pages_min=chance.choice((0, 4)),
        queue_flush_pages_min=chance.choice((0, 1)),
        queue_flush_thorough_ms=chance.choice((3000, 60_000)),
        flush_thorough_ms=3000,
        cleanup_interval_ms=10**9,  # only when the life says so
        keep_hours=1,
        delete_when=";".join(map(str, range(24))),
        disk_limits=False,
        property_crc=chance.random() < 0.5,
    )


def index_of(settings: StoreSettings) -> OpenIndex:
    """The index of a store with these settings, in files that end often."""
    chance = Random(f"index {attrs.evolve(settings, directory=Path())}")
    return small_index(chance.choice((7, 1000)), chance.choice((40, 400)))


@contextmanager
def stepped_threads() -> Iterator[None]:
    """Stores that are made meanwhile have no threads; `store._threads.step()` does what is due."""
    with patch.object(recovered_store, "Threads", SteppedThreads):
        yield


class StoreLife:
    """One store from its first start on. `note` is told each promise.

    `refused`: how many calls ended with an error of ours.
    """

    def __init__(self, settings: StoreSettings, seed: int, note: Callable[[Any], None]) -> None:
        self.settings = settings
        self.chance = Random(f"life {seed}")
        self.clock = ManualClock(IN_2100)
        self.note = note
        self.refused: Counter[str] = Counter()
        self.unanswered: set[int] = set()
        """Log offsets behind sends that still wait."""
        self.stalled = 0
        """For how many steps the disk does nothing."""
        self._number = 0
        self._queues = [(topic, number) for topic in "abc" for number in range(self.chance.randint(1, 3))]
        self._sizes = self.chance.choice(((0, 60), (0, 900), (300, 3000)))
        self.store: MessageStore | None = None

    def open(self) -> None:
        """Start the store."""
        self.store = MessageStore.open(
            self.settings, self.clock, open_index=index_of(self.settings), log_reading=LOG_READING
        )
        self.store.start()

    def run(self, steps: int) -> None:
        """Live on for so many steps."""
        actions = (
            (self._put, 40),
            (self._put_batch, 8),
            (self._dispatch, 12),
            (self._work, 40),
            (self._time_passes, 12),
            (self._clean, 2),
            (self._stop, 1),
            (self._kill, 1),
        )
        for _ in range(steps):
            (action,) = self.chance.choices([each for each, _ in actions], [often for _, often in actions])
            try:
                if self.store is None:
                    self.open()
                action()
                self._note_flushed()
            except MqframeError as problem:
                self.refused[type(problem).__name__] += 1

    def settle(self) -> None:
        """Let the disk do all that it was given, and time pass until nobody has to wait any more."""
        self.stalled = 0
        for _ in range(20):
            if self.store is not None:
                self.clock.advance(1)
                self._work_all()

    def _work_all(self) -> None:
        threads: Any = self._running._threads
        while threads.jobs:
            threads.step()

    def end(self, *, orderly: bool) -> None:
        """Stop, or be killed."""
        if self.store is not None:
            self._stop() if orderly else self._kill()

    @property
    def _running(self) -> MessageStore:
        assert self.store is not None
        return self.store

    def _incoming(self) -> Incoming:
        self._number += 1
        body = Random(self._number).randbytes(self.chance.randint(*self._sizes))
        topic, queue_id = self.chance.choice(self._queues)
        properties = f"KEYS\x01k{self._number}\x02number\x01{self._number}\x02"
        return Incoming(topic, queue_id, b"%d " % self._number + body, properties, 1, HOST, HOST)

    def _put(self) -> None:
        store, one = self._running, self._incoming()
        stored = store.writes.put(one)
        end = stored.commit_log_offset + stored.size
        place = one.topic, one.queue_id, stored.queue_offset
        self._stored([Sent(*place, bytes(one.body), one.properties, stored.commit_log_offset, end)], end)

    def _put_batch(self) -> None:
        store, many = self._running, [self._incoming() for _ in range(self.chance.randint(1, 6))]
        head = many[0]
        batch = b"".join(encode_element(bytes(each.body), each.properties.encode()) for each in many)
        stored = store.writes.put_batch(
            Incoming(head.topic, head.queue_id, b"", "", 1, HOST, HOST), batch, b"UNIQ_KEY\x01u\x02"
        )
        end = stored.end_offset
        starts = [*stored.offsets, end]
        self._stored(
            [
                Sent(
                    head.topic,
                    head.queue_id,
                    stored.queue_offset + at,
                    bytes(each.body),
                    each.properties + "UNIQ_KEY\x01u\x02",
                    starts[at],
                    starts[at + 1],
                )
                for at, each in enumerate(many)
            ],
            end,
        )

    def _stored(self, messages: list[Sent], end: int) -> None:
        for sent in messages:
            self.note(Stored(sent))
        if self.settings.flush != "SYNC_FLUSH":
            return
        self.unanswered.add(end)

        def answer(confirmed: bool) -> None:
            self.unanswered.discard(end)
            if confirmed:
                for sent in messages:
                    self.note(Acknowledged(sent))

        self._running.confirming.when_confirmed(end, answer)

    def _note_flushed(self) -> None:
        if self.store is not None:
            self.note(Flushed(self.store.log.flushed_offset))

    def _dispatch(self) -> None:
        self._running.dispatch.now()

    def _work(self) -> None:
        threads: Any = self._running._threads
        self.stalled = max(0, self.stalled - 1)
        if threads.jobs and not self.stalled:
            threads.step()

    def _time_passes(self) -> None:
        self.clock.advance(self.chance.choice((0.1, 0.6, 1.1, 4)))

    def _clean(self) -> None:
        self.note(Cleaning(None))
        self._running.clean()
        self.note(Cleaning(self._running.log.min_offset))

    def _stop(self) -> None:
        store, self.store = self._running, None
        asyncio.run(store.stop())
        self.note(Flushed(store.log.flushed_offset))

    def _kill(self) -> None:
        store, self.store = self._running, None
        self.unanswered.clear()  # nobody is left to answer
        store.abandon()
