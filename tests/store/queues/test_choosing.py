"""Which stretches of the log a pull reads, and with how many calls."""

from __future__ import annotations

import random

import pytest

from mqframe.core.storage.found import GetStatus
from mqframe.store.queues.choosing import GAP_BYTES_MAX, WINDOW_BYTES_MAX, choose, read_window, windows
from mqframe.store.queues.consume_queue import ENTRY, FILLER

FILE = 1000
EVERY_CODE = range(-10, 10)
"""With it entries go the way of a filter that lets all through."""


def entries(*places: tuple[int, int]) -> bytes:
    return b"".join(ENTRY.pack(start, size, 1) for start, size in places)


def chosen(raw: bytes, most: int = 100, bytes_max: int = 10_000, log_start: int = 0, codes=None):
    return choose(raw, 5, most, codes, bytes_max, log_start, FILE)


@pytest.fixture(params=[None, EVERY_CODE], ids=["all", "filtered"])
def codes(request):
    """No filter, and one that lets all through: both must say the same."""
    return request.param


def test_neighbours_are_one_stretch(codes) -> None:
    found = chosen(entries((100, 50), (150, 30), (200, 10), (210, 10)), codes=codes)
    assert found == (GetStatus.FOUND, 9, [(100, 180), (200, 220)], 4, 100, [1, 3], False)


def test_a_stretch_ends_with_its_file(codes) -> None:
    found = chosen(entries((900, 100), (1000, 20), (1020, 20)), codes=codes)
    assert found.stretches == [(900, 1000), (1000, 1040)]


def test_count_and_bytes_end_it(codes) -> None:
    raw = entries((0, 40), (40, 40), (80, 40))
    assert chosen(raw, most=2, codes=codes)[1:5] == (7, [(0, 80)], 2, 80)
    assert chosen(raw, bytes_max=119, codes=codes)[1:5] == (7, [(0, 80)], 2, 80)
    assert chosen(raw, bytes_max=120, codes=codes)[1:5] == (8, [(0, 120)], 3, 120)


def test_the_first_record_is_taken_however_large(codes) -> None:
    assert chosen(entries((0, 400), (400, 1)), bytes_max=10, codes=codes)[1:5] == (6, [(0, 400)], 1, 400)


def test_what_holds_no_record_is_passed_over(codes) -> None:
    raw = FILLER * 2 + entries((100, 20), (120, 20)) + FILLER + entries((140, 9))
    found = chosen(raw, log_start=50, codes=codes)
    assert found == (GetStatus.FOUND, 11, [(100, 140), (140, 149)], 3, 49, [3, 5], False)
    nothing = (GetStatus.MESSAGE_WAS_REMOVING, 7, [], 0, 0, [], False)
    assert chosen(FILLER * 2, log_start=50, codes=codes) == nothing


@pytest.mark.parametrize("odd", [(10, 20), (0, 0), (-1, 20), (100, -5), (0, 20)])
def test_what_no_dispatch_wrote_ends_it_and_is_told_when_it_comes_first(codes, odd) -> None:
    raw = entries((100, 20), odd, (140, 9))
    assert chosen(raw, log_start=50, codes=codes)[1:] == (6, [(100, 120)], 1, 20, [0], False)
    assert chosen(raw[20:], log_start=50, codes=codes)[1:] == (5, [], 0, 0, [], True)
    assert chosen(FILLER + raw[20:], log_start=50, codes=codes)[1:] == (6, [], 0, 0, [], True)


def test_a_torn_entry_at_the_end_counts_for_nothing(codes) -> None:
    assert chosen(entries((0, 40), (40, 40))[:-1], codes=codes)[1:5] == (6, [(0, 40)], 1, 40)


def test_with_and_without_filter_the_same_is_chosen() -> None:
    chance = random.Random(7)
    for _ in range(300):
        at, places = 0, []
        for _ in range(chance.randrange(1, 40)):
            at += chance.choice((0, 0, 0, 30, 900))
            size = chance.choice((10, 10, 10, 70, 0, 0x7FFFFFFF))
            places.append((at, size))
            at += size if size < 100 else 0
        limits = {"most": chance.randrange(1, 50), "bytes_max": chance.randrange(1, 500)}
        raw = entries(*places)[: limits["most"] * 20]  # as many as a read without filter looks at
        assert chosen(raw, **limits) == chosen(raw, **limits, codes=EVERY_CODE)


def test_near_stretches_are_read_together() -> None:
    far = 20 + GAP_BYTES_MAX + 11
    assert windows([(0, 10), (20, 30), (far, far + 5)], 0, 1 << 30) == [[(0, 10), (20, 30)], [(far, far + 5)]]


def test_a_read_stays_within_its_file_and_its_size() -> None:
    assert windows([(900, 990), (1000, 1010)], 0, FILE) == [[(900, 990)], [(1000, 1010)]]
    ends = WINDOW_BYTES_MAX
    stretches = [(0, ends - 5), (ends - 4, ends), (ends, ends + 1)]
    assert windows(stretches, 0, 1 << 30) == [stretches[:2], stretches[2:]]
    assert windows([(0, 2 * ends)], 0, 1 << 30) == [[(0, 2 * ends)]]


def test_a_window_is_cut_into_its_stretches() -> None:
    log = bytes(range(100))
    asked: list[tuple[int, int]] = []

    def fetch(start: int, size: int) -> bytes:
        asked.append((start, size))
        return log[start : start + size]

    assert read_window([(10, 12), (20, 23)], fetch) == [b"\x0a\x0b", b"\x14\x15\x16"]
    assert read_window([(30, 31)], fetch) == [b"\x1e"]
    assert asked == [(10, 13), (30, 1)]
    assert read_window([(10, 12), (20, 23)], lambda start, size: None) is None
