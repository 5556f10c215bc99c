"""The timer's files together: a plain table of what waits must say the same, kills included."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_delay.rules.timer_layout import UNIT
from mqframe_delay.store.timer_store import TimerDamage, TimerStore
from mqframe_delay.store.wheel import Slot, TimerWheel

START = 1_700_000_000_000
FILE_BYTES = UNIT.size * 8 + 16
WINDOW = 30


def opened(root: Path, now: int = START) -> TimerStore:
    store = TimerStore(root, precision_ms=1000, window_slots=WINDOW, log_file_bytes=FILE_BYTES, now=now)
    store.move_write_time(now)
    return store


def put(store, out, offset, **options):
    store.add(out, offset, 100, 0, **{"recalls": False, **options})
    store.taken_in(store.queue_offset + 1, offset)


def offsets_in(store, slot):
    return [unit.log_offset for _, unit in store.chain(slot)]


def save(store, now=START):
    store.mark(0)
    store.sync(store.begin_sync(None, now))


def test_a_slot_gives_its_messages_newest_first(tmp_path):
    store = opened(tmp_path)
    for offset, out in ((100, 2), (200, 5), (300, 2), (400, 2)):
        put(store, START + out * 1000, offset)
    slot = store.next_slot(START + 60_000)
    assert (slot.time, slot.messages) == (START + 2000, 3)
    assert offsets_in(store, slot) == [400, 300, 100]
    store.delivered(slot)
    assert store.next_slot(START + 60_000).time == START + 5000
    assert store.next_slot(START + 5000) is None
    assert store.waiting == 1
    store.close()


def test_a_slot_that_names_units_of_another_one_is_damage(tmp_path):
    store = opened(tmp_path)
    put(store, START + 2000, 100)
    damage = TimerWheel(tmp_path / "timerwheel", 1000)
    damage.put(Slot(START + 1000, 0, 0, 1))
    damage.close()
    wrong = store.next_slot(START + 60_000)
    with pytest.raises(TimerDamage, match=f"no unit of slot {START + 1000} at position 0"):
        offsets_in(store, wrong)
    store.close()
    store = opened(tmp_path)
    assert offsets_in(store, store.next_slot(START + 60_000)) == [100]
    store.close()


def test_what_is_forgotten_is_taken_in_again(tmp_path):
    store = opened(tmp_path)
    for number in range(20):
        put(store, START + 2000, number * 100)
    save(store)
    store.skip_to(START + 1000)
    store.forget()
    assert (store.queue_offset, store.taken_before, store.waiting) == (0, 20, 0)
    assert store.next_slot(START + 60_000) is None
    put(store, START + 2000, 0)
    save(store)
    store.close()
    store = opened(tmp_path, START + 1000)
    assert (store.queue_offset, store.taken_before, store.waiting) == (1, 20, 1)
    assert store.read_time == START + 1000
    for number in range(1, 21):
        put(store, START + 2000, number * 100)
    save(store)
    store.close()
    store = opened(tmp_path, START + 1000)
    assert (store.queue_offset, store.taken_before, store.waiting) == (21, 21, 21)
    store.close()


@pytest.mark.parametrize("damage", ["gone", "short"])
def test_a_log_that_ends_before_the_checkpoint_is_lost(tmp_path, damage):
    store = opened(tmp_path)
    for number in range(20):
        put(store, START + 2000, number * 100)
    save(store)
    store.close()
    path = max((tmp_path / "timerlog").iterdir())
    path.unlink() if damage == "gone" else path.write_bytes(b"")
    store = opened(tmp_path)
    assert store.lost
    store.forget()
    assert not store.lost
    store.close()


def test_what_is_far_rolls(tmp_path):
    store = opened(tmp_path)
    put(store, START + (WINDOW + 3) * 1000, 100)
    put(store, START + 2 * WINDOW * 1000, 200, recalls=True)
    near, end = (store.next_slot(START + (WINDOW + 1) * 1000), START + WINDOW * 1000)
    ((_, unit),) = store.chain(near)
    assert (near.time, unit.rolls, unit.recalls) == (START + WINDOW // 2 * 1000, True, False)
    store.delivered(near)
    ((_, unit),) = store.chain(store.next_slot(end + 1))
    assert (unit.time, unit.rolls, unit.recalls) == (end, True, False)
    store.close()


def test_a_lost_wheel_is_made_again_from_the_log(tmp_path):
    store = opened(tmp_path)
    for number in range(20):
        put(store, START + (1 + number % 4) * 1000, number * 100)
    save(store)
    store.close()
    (tmp_path / "timerwheel").unlink()
    store = opened(tmp_path)
    assert store.waiting == 20
    slot = store.next_slot(START + 60_000)
    assert offsets_in(store, slot) == [1600, 1200, 800, 400, 0]
    store.close()


def test_a_lost_end_of_the_log_takes_nothing_else_along(tmp_path):
    store = opened(tmp_path)
    for number in range(6):
        put(store, START + (1 + number % 2) * 1000, number * 100)
    store.close()
    path = tmp_path / "timerlog" / f"{0:020d}"
    raw = path.read_bytes()
    path.write_bytes(raw[: UNIT.size * 4] + bytes(FILE_BYTES - UNIT.size * 4))
    store = opened(tmp_path)
    assert store.waiting == 4
    assert store.queue_offset == 0  # so that the lost ones are taken in again
    assert [store.has(number * 100) for number in range(6)] == [True] * 4 + [False] * 2
    slot = store.next_slot(START + 60_000)
    assert offsets_in(store, slot) == [200, 0]
    store.delivered(slot)
    assert offsets_in(store, store.next_slot(START + 60_000)) == [300, 100]
    store.close()


def test_the_checkpoint_waits_for_the_commit_log(tmp_path):
    store = opened(tmp_path)
    put(store, START + 1000, 100)
    store.mark(1000)
    store.delivered(store.next_slot(START + 60_000))
    store.mark(2000)
    store.begin_sync(999, START)
    assert (store.checkpoint.queue_offset, store.is_settled) == (0, False)
    store.begin_sync(1999, START)
    assert (store.checkpoint.queue_offset, store.checkpoint.position) == (1, UNIT.size)
    assert store.checkpoint.read_time < START
    store.begin_sync(2000, START)
    assert (store.checkpoint.read_time, store.is_settled) == (START + 2000, True)
    store.close()


class TimerMachine(RuleBasedStateMachine):
    """Messages go in, slots come out, processes die: every message comes, once unless a kill was between."""

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="mqframe-timer-"))
        self.now = START
        self.topic = []  # (slot time, log offset) of all that the timer topic holds
        self.delivered = defaultdict(int)
        self.saved_delivered = {}
        self.killed = False
        self.store = opened(self.root)

    def teardown(self):
        self.store.close()
        shutil.rmtree(self.root)

    @rule(ahead=st.integers(0, WINDOW - 1), count=st.integers(1, 4))
    def send(self, ahead, count):
        for _ in range(count):
            self.topic.append((self.store.write_time + ahead * 1000, len(self.topic) * 100))

    @rule(count=st.integers(1, 5))
    def take_in(self, count):
        for out, offset in self.topic[self.store.queue_offset :][:count]:
            if self.store.has(offset):
                self.store.taken_in(self.store.queue_offset + 1, offset)
            elif out < self.store.write_time:
                self.delivered[offset] += 1
                self.store.taken_in(self.store.queue_offset + 1, offset)
            else:
                put(self.store, out, offset)

    @rule(seconds=st.integers(0, 5))
    def pass_time(self, seconds):
        self.now += seconds * 1000
        self.store.move_write_time(self.now)

    @rule()
    def deliver(self):
        while (slot := self.store.next_slot(self.store.write_time)) is not None:
            for offset in offsets_in(self.store, slot):
                assert self.topic[offset // 100][0] == slot.time
                self.delivered[offset] += 1
            self.store.delivered(slot)
        self.store.skip_to(self.store.write_time)

    @rule()
    def flush(self):
        save(self.store, self.now)

    @rule(orderly=st.booleans())
    def restart(self, orderly):
        if orderly:
            save(self.store, self.now)
        self.killed = self.killed or not orderly
        self.store.close()
        self.store = opened(self.root, self.now)

    @rule()
    def lose_the_last_unit(self):
        """A power cut: the last pages of the log did not reach the disk."""
        save(self.store, self.now)
        position = self.store.checkpoint.position
        self.take_in(3)
        self.store.close()
        for path in (self.root / "timerlog").iterdir():
            base, raw = int(path.name), path.read_bytes()
            keep = max(0, min(position - base, FILE_BYTES))
            path.write_bytes(raw[:keep] + bytes(FILE_BYTES - keep))
        self.killed = True
        self.store = opened(self.root, self.now)

    @invariant()
    def what_is_due_and_taken_in_has_come(self):
        for out, offset in self.topic[: self.store.queue_offset]:
            if out < self.store.read_time:
                assert self.delivered[offset] >= 1
        if not self.killed:
            assert all(times == 1 for times in self.delivered.values())

    @invariant()
    def nothing_comes_early(self):
        for offset, times in self.delivered.items():
            assert not times or self.topic[offset // 100][0] < self.store.write_time


TestTimer = TimerMachine.TestCase
TestTimer.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
