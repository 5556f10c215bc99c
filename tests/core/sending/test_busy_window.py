"""The window of batches under way to a busy broker."""

from itertools import pairwise
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.sending.busy_window import FREE_AGAIN, BusyWindow


def filled(count):
    window = BusyWindow()
    assert all(window.enter() for _ in range(count))
    return window


def test_nothing_is_held_back_while_nobody_is_busy():
    window = filled(1000)
    for _ in range(1000):
        window.taken()
    assert (window.limit, window.under_way) == (inf, 0)


def test_a_refusal_halves_what_is_under_way_once_for_all_that_left_before():
    window = filled(16)
    window.refused()
    assert window.limit == 8
    for _ in range(15):
        window.refused()
    assert (window.limit, window.under_way) == (8, 0)
    assert [window.enter() for _ in range(10)] == [True] * 8 + [False] * 2
    window.refused()
    assert window.limit == 4


def test_one_may_always_go():
    window = filled(1)
    for _ in range(5):
        window.refused()
        assert window.limit == 1
        assert window.enter()
        assert not window.enter()


def test_each_round_that_is_taken_makes_room_for_about_one_more_until_there_is_no_limit():
    window = filled(2)
    window.refused()
    window.taken()
    limits = []
    for _ in range(100):
        sent = 0
        while window.enter():
            sent += 1
            if window.limit == inf and sent == 100:
                break
        for _ in range(sent):
            window.taken()
        limits.append(window.limit)
        if window.limit == inf:
            break
    assert limits[-1] == inf
    steps = [after - before for before, after in pairwise(limits[:-1])]
    assert all(0.5 < step <= 1 for step in steps)
    assert len(limits) >= FREE_AGAIN - 2


def test_other_ends_say_nothing():
    window = filled(4)
    window.refused()
    for _ in range(3):
        window.left()
    assert (window.limit, window.under_way) == (2, 0)


@given(st.lists(st.sampled_from(["enter", "refused", "taken", "left"])))
def test_the_count_is_right_whatever_happens(steps):
    window, under_way = BusyWindow(), 0
    for step in steps:
        if step == "enter":
            entered = window.enter()
            assert entered == (under_way + 1 <= window.limit)
            under_way += entered
        elif under_way:
            getattr(window, step)()
            under_way -= 1
        assert window.under_way == under_way
        assert window.limit >= 1
