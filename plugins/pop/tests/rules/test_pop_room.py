"""How many messages a consumer that pops may have in hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_pop.rules.pop_room import LEAST, PopRoom, most_in_hand


def test_slow_listeners_get_what_their_workers_can_begin() -> None:
    room = PopRoom(0.0)
    assert room.limit(20) == 20
    for second in range(1, 50):
        room.done(20, float(second))
    assert room.limit(20) == 20
    assert room.wanted(0, 20, 1, 32) == 20
    assert room.wanted(15, 20, 1, 32) == 5
    assert room.wanted(20, 20, 1, 32) == 0


def test_quick_listeners_get_what_they_do_in_a_moment() -> None:
    room = PopRoom(0.0)
    for step in range(1, 200):
        room.done(30, step * 0.1)
    assert 28 <= room.limit(20) <= 30
    for step in range(1, 200):
        room.done(100_000, 20.0 + step * 0.1)
    assert room.limit(20) == most_in_hand(20) == 40
    assert room.limit(1) == most_in_hand(1) == LEAST
    assert room.wanted(10, 20, 1, 32) == 30


def test_several_sources_share_the_room_and_each_gets_one_at_least() -> None:
    room = PopRoom(0.0)
    assert room.wanted(0, 20, 4, 32) == 5
    assert room.wanted(0, 20, 40, 32) == 1


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 100)), max_size=50), st.integers(1, 1000))
def test_never_fewer_than_workers_and_never_many_more(steps: list[tuple[int, float]], workers: int) -> None:
    room, now = PopRoom(0.0), 0.0
    for count, seconds in steps:
        now += seconds
        room.done(count, now)
        assert workers <= room.limit(workers) <= most_in_hand(workers)
        assert 0 <= room.wanted(count, workers, 3, 32) <= 32
