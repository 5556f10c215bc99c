import struct

import pytest
from mqframe_delay.store.wheel import Slot, TimerWheel

START = 1_700_000_000_000


@pytest.fixture
def wheel(tmp_path):
    made = TimerWheel(tmp_path / "timerwheel", 1000)
    yield made
    made.close()


def test_a_slot_byte_for_byte(wheel, tmp_path):
    wheel.put(Slot(START, 52, 104, 2))
    assert (tmp_path / "timerwheel").stat().st_size == 38_707_200
    with (tmp_path / "timerwheel").open("rb") as file:
        file.seek(1_700_000_000 % 1_209_600 * 32)
        assert struct.unpack(">qqqii", file.read(32)) == (1_700_000_000, 52, 104, 2, 0)


def test_a_slot_belongs_to_one_turn(wheel):
    turn = 1_209_600_000
    wheel.put(Slot(START, 0, 52, 1))
    assert wheel.slot(START) == Slot(START, 0, 52, 1)
    assert wheel.slot(START + turn) is None
    assert wheel.slot(START + 1000) is None
    wheel.put(Slot(START + turn, 104, 104, 1))
    assert wheel.slot(START) is None
    assert not wheel.is_emptied(START + turn)
    wheel.clear(START + turn)
    assert wheel.is_emptied(START + turn)
    assert not wheel.is_emptied(START)
    assert list(wheel.used(START + turn, START + turn + 1000)) == []


def test_slots_in_use_come_in_order_over_the_end_of_the_file(wheel):
    end_of_file = -(-START // 1_209_600_000) * 1_209_600_000
    times = [end_of_file - 5000, end_of_file - 1000, end_of_file, end_of_file + 3_000_000]
    for time in reversed(times):
        wheel.put(Slot(time, 0, 0, 1))
    assert [slot.time for slot in wheel.used(end_of_file - 5000, end_of_file + 3_000_001)] == times
    assert [slot.time for slot in wheel.used(end_of_file - 4999, end_of_file + 3_000_000)] == times[:3]
    assert [slot.time for slot in wheel.used(START, START)] == []
    assert [slot.time for slot in wheel.used(START, START + 10**12)] == times


def test_a_new_wheel_takes_no_room(wheel, tmp_path):
    assert wheel.is_new
    assert (tmp_path / "timerwheel").stat().st_blocks == 0
    wheel.put(Slot(START, 0, 0, 1))
    assert (tmp_path / "timerwheel").stat().st_blocks * 512 <= 1 << 16


def test_a_file_of_another_size_is_no_wheel(tmp_path):
    (tmp_path / "timerwheel").write_bytes(b"x" * 100)
    wheel = TimerWheel(tmp_path / "timerwheel", 1000)
    assert wheel.is_new
    assert list(wheel.used(0, 1 << 50)) == []
    wheel.close()
    assert (tmp_path / "timerwheel").stat().st_size == 38_707_200
