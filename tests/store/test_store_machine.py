"""Random lives of a store against a plain model: puts, batches, flushes, kills, orderly stops, clean-up."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from indexed import LOG_READING, small_index
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import decode_records
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
QUEUES = [("a", 0), ("a", 1), ("b", 0)]


class StoreLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="store-life-"))
        # In 2100: all files but the last are old enough to go.
        self.clock = ManualClock(4_102_444_800_000)
        self.model: dict[tuple[str, int], list[bytes]] = {place: [] for place in QUEUES}
        self.keys: dict[tuple[str, str], int] = {}
        self.number = 0
        self.store = self.open()

    def open(self) -> MessageStore:
        return MessageStore.open(
            StoreSettings(
                directory=self.directory / "store",
                commit_log_file_bytes=4096,
                queue_file_bytes=200,
                keep_hours=1,
                delete_when=";".join(map(str, range(24))),
                disk_limits=False,
            ),
            self.clock,
            open_index=small_index(5, 40),
            log_reading=LOG_READING,
        )

    def next_body(self, size: int) -> bytes:
        self.number += 1
        return b"%d " % self.number + b"." * size

    @rule(
        place=st.sampled_from(QUEUES),
        size=st.integers(0, 1500),
        dispatch=st.booleans(),
        key=st.integers(0, 3),
    )
    def put(self, place, size, dispatch, key):
        body = self.next_body(size)
        stored = self.store.writes.put(Incoming(*place, body, f"KEYS\x01k{key}\x02", 1, HOST, HOST))
        assert stored.queue_offset == len(self.model[place])
        self.model[place].append(body)
        if dispatch:
            self.store.dispatch.now()

    @rule(place=st.sampled_from(QUEUES), sizes=st.lists(st.integers(0, 400), min_size=1, max_size=6))
    def put_batch(self, place, sizes):
        bodies = [self.next_body(size) for size in sizes]
        batch = b"".join(encode_element(body, b"KEYS\x01k0\x02") for body in bodies)
        stored = self.store.writes.put_batch(
            Incoming(*place, b"", "", 1, HOST, HOST), batch, b"UNIQ_KEY\x01u\x02"
        )
        first = len(self.model[place])
        assert (stored.queue_offset, len(stored.offsets)) == (first, len(bodies))
        self.model[place] += bodies

    @rule(seconds=st.integers(0, 4000))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def clean(self):
        self.store.dispatch.now()
        old = self.store.log.min_offset
        self.store.clean()
        assert self.store.log.min_offset >= old
        assert (
            self.store.log.max_offset - self.store.log.min_offset <= 11 * 4096
            or self.store.log.min_offset > old
        )

    @rule()
    def stop_in_good_order(self):
        asyncio.run(self.store.stop())
        assert not (self.directory / "store" / "abort").exists()
        self.store = self.open()
        assert self.store.recovered.records == 0

    @rule()
    def kill(self):
        """What a copy of the directory holds is what a killed process leaves."""
        copy = self.directory / "copy"
        shutil.copytree(self.directory / "store", copy)
        self.store.abandon()
        shutil.rmtree(self.directory / "store")
        copy.rename(self.directory / "store")
        self.store = self.open()

    @invariant()
    def every_message_is_there_in_order(self):
        self.store.dispatch.now()
        for place in QUEUES:
            low, high = self.store.queues.min_offset(*place), self.store.queues.max_offset(*place)
            assert high == len(self.model[place])
            read, offset = [], low
            while offset < high:
                found = self.store.reads.get(*place, offset, 7)
                assert found.status is GetStatus.FOUND
                read += [m for part in found.parts for m in decode_records(part)]
                offset = found.next_offset
            assert [m.body for m in read] == self.model[place][low:]
            assert [m.queue_offset for m in read] == list(range(low, high))

    @invariant()
    def keys_are_found(self):
        self.store.dispatch.now()
        for topic in ("a", "b"):
            wanted = set()
            for place in QUEUES:
                if place[0] == topic:
                    low, high = self.store.queues.min_offset(*place), self.store.queues.max_offset(*place)
                    for offset in range(low, high):
                        (message,) = decode_records(self.store.reads.get(*place, offset, 1).parts[0])
                        if "k0" in message.keys:
                            wanted.add(message.commit_log_offset)
            found = [
                next(iter(decode_records(r))).commit_log_offset
                for r in self.store.search.query(topic, "k0", 64).records
            ]
            assert found == sorted(wanted, reverse=True)[:64]

    def teardown(self):
        self.store.abandon()
        shutil.rmtree(self.directory)


TestStoreLife = StoreLife.TestCase
TestStoreLife.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
