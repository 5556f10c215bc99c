import pytest
from mqframe_delay.rules.timer_layout import BLANK, BLANK_MAGIC, Unit
from mqframe_delay.store.log import TimerLog

FILE_BYTES = 52 * 3 + 16 + 20
"""Three units, the blank, and some bytes that no unit fits into."""


def unit(number):
    return Unit(-1, 1, 1000, 2000, number * 100, 100)


@pytest.fixture
def log(tmp_path):
    made = TimerLog(tmp_path / "timerlog", FILE_BYTES)
    yield made
    made.close()


def reopened(log, tmp_path):
    log.close()
    return TimerLog(tmp_path / "timerlog", FILE_BYTES)


def test_units_lie_in_files_one_after_another(log, tmp_path):
    positions = [log.append(unit(number)) for number in range(7)]
    assert positions == [0, 52, 104, 192, 244, 296, 384]
    assert [log.unit(position) for position in positions] == [unit(number) for number in range(7)]
    assert log.unit(436) is None
    assert log.unit(-1) is None
    names = sorted(path.name for path in (tmp_path / "timerlog").iterdir())
    assert names == [f"{base:020d}" for base in (0, 192, 384)]
    raw = (tmp_path / "timerlog" / names[0]).read_bytes()
    assert len(raw) == FILE_BYTES
    assert raw[156:172] == BLANK.pack(36, 0, BLANK_MAGIC)


def test_a_reader_finds_every_unit_again(log, tmp_path):
    positions = [log.append(unit(number)) for number in range(7)]
    log = reopened(log, tmp_path)
    assert [position for position, _ in log.units_from(0)] == positions
    assert [found for _, found in log.units_from(244)] == [unit(number) for number in (4, 5, 6)]
    assert [position for position, _ in log.units_from(436)] == []
    assert [log.reaches(at) for at in (0, 52, 192, 384, 436, 488, 576, 4)] == [
        True, True, True, True, True, False, True, False,
    ]  # fmt: skip
    log.close()


def test_what_is_no_unit_ends_the_log(log, tmp_path):
    for number in range(7):
        log.append(unit(number))
    path = tmp_path / "timerlog" / f"{192:020d}"
    raw = bytearray(path.read_bytes())
    raw[52:56] = b"\0\0\0\0"
    path.write_bytes(raw)
    log = reopened(log, tmp_path)
    assert [position for position, _ in log.units_from(0)] == [0, 52, 104, 192]
    log.cut(244)
    assert not (tmp_path / "timerlog" / f"{384:020d}").exists()
    assert path.read_bytes()[52:] == bytes(FILE_BYTES - 52)
    assert log.append(unit(9)) == 244
    assert log.unit(244) == unit(9)
    log.close()


def test_files_go_once_the_commit_log_has_dropped_their_messages(log, tmp_path):
    for number in range(7):
        log.append(unit(number))
    assert log.remove_before(200) == []
    assert [path.name for path in log.remove_before(201)] == [f"{0:020d}"]
    assert log.unit(0) is None
    assert log.start == 192
    assert [path.name for path in log.remove_before(10_000)] == [f"{192:020d}"]
    assert log.unit(384) == unit(6)


@pytest.mark.parametrize(
    ("base", "size"),
    [(192, None), (0, FILE_BYTES + 1), (384, FILE_BYTES * 2)],
)
def test_files_that_are_missing_or_too_long_break_the_log(log, tmp_path, base, size):
    for number in range(7):
        log.append(unit(number))
    path = tmp_path / "timerlog" / f"{base:020d}"
    if size is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().ljust(size, b"x"))
    log = reopened(log, tmp_path)
    assert log.is_broken
    assert list((tmp_path / "timerlog").iterdir()) == []
    assert [log.append(unit(number)) for number in (1, 2)] == [0, 52]
    log.close()


@pytest.mark.parametrize(("size", "left"), [(0, []), (30, []), (52, [384]), (60, [384])])
def test_a_short_last_file_is_filled_up(log, tmp_path, size, left):
    for number in range(9):
        log.append(unit(number))
    path = tmp_path / "timerlog" / f"{384:020d}"
    path.write_bytes(path.read_bytes()[:size])
    log = reopened(log, tmp_path)
    assert not log.is_broken
    assert [position for position, _ in log.units_from(0)] == [0, 52, 104, 192, 244, 296, *left]
    assert path.stat().st_size == FILE_BYTES
    log.close()


def test_a_sync_makes_the_names_of_new_files_durable_once(log, operations):
    log.append(unit(1))
    log.sync()
    assert operations == ["fdatasync timerlog/00000000000000000000", "fsync timerlog", "fsync ."]
    log.sync()
    assert operations[3:] == ["fdatasync timerlog/00000000000000000000"]
    for number in range(3):
        log.append(unit(number))
    log.sync()
    assert operations[4:] == [
        "fdatasync timerlog/00000000000000000000",
        "fdatasync timerlog/00000000000000000192",
        "fsync timerlog",
    ]  # fmt: skip
