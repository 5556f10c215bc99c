from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.storage.checked_offsets import RANGES_MAX, CheckedOffsets

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda at: (at[0], sum(at))))


@given(RANGES, st.integers(0, 80), st.integers(1, 20))
def test_a_range_is_known_just_when_all_of_it_was_added(added, start, size) -> None:
    checked = CheckedOffsets()
    known: set[int] = set()
    for low, high in added:
        checked.add(low, high)
        known.update(range(low, high))
    if len({at for at in known if at - 1 not in known}) < RANGES_MAX:
        assert checked.has(start, start + size) == known.issuperset(range(start, start + size))
    checked.clear()
    assert not checked.has(start, start + size)


def test_of_too_many_the_smallest_is_forgotten() -> None:
    checked = CheckedOffsets()
    for number in range(RANGES_MAX + 4):
        checked.add(100 * number, 100 * number + 10 + number)
    held = [checked.has(100 * number, 100 * number + 10 + number) for number in range(RANGES_MAX + 4)]
    assert held == [False] * 4 + [True] * RANGES_MAX


def test_readers_that_go_on_at_places_of_their_own_keep_what_they_checked() -> None:
    checked = CheckedOffsets()
    for step in range(100):
        for reader in range(RANGES_MAX):
            checked.add(10_000 * reader + 10 * step, 10_000 * reader + 10 * step + 10)
    assert all(checked.has(10_000 * reader, 10_000 * reader + 1000) for reader in range(RANGES_MAX))
