import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_delay.rules.timer_rules import (
    OTHER_LIMITS_MS,
    believed_slot,
    delivered_properties,
    placed,
    slot_of_write,
    slot_time,
    taken_back,
)

DAY_SLOTS = 86_400


@given(st.integers(1, 10**13), st.sampled_from([100, 200, 500, 1000]))
def test_a_slot_ends_at_or_after_the_wanted_time_and_less_than_a_precision_later(deliver, precision):
    slot = slot_time(deliver, precision)
    assert slot % precision == 0
    assert deliver <= slot + precision < deliver + precision


@pytest.mark.parametrize(("deliver", "slot"), [(5000, 4000), (5001, 5000), (5999, 5000), (6000, 5000)])
def test_an_exact_time_waits_in_the_slot_before(deliver, slot):
    assert slot_time(deliver, 1000) == slot


def test_what_lies_beyond_the_window_rolls():
    window = 2 * DAY_SLOTS
    assert placed(window * 1000 - 1000, 0, window, 1000) == (window * 1000 - 1000, False)
    assert placed(window * 1000, 0, window, 1000) == (DAY_SLOTS * 1000, True)
    third = window // 3
    assert placed((window + third - 1) * 1000, 0, window, 1000) == (DAY_SLOTS * 1000, True)
    assert placed((window + third) * 1000, 0, window, 1000) == (window * 1000, True)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 1000), st.sampled_from([100, 1000]))
def test_rolling_ends_in_the_right_slot(start, ahead, window, precision):
    write = slot_of_write(start, precision)
    out = write + ahead // 1000 * precision
    for _ in range(2000):
        slot, rolls = placed(out, write, window, precision)
        assert write <= slot <= out
        assert slot - write <= window * precision
        if not rolls:
            assert slot == out
            return
        assert slot > write
        write = slot + precision
        if out < write:
            return
    raise AssertionError("rolls forever")


def test_properties_tell_of_the_wait():
    sent = {"TAGS": "a", "TIMER_OUT_MS": "5"}
    once = delivered_properties(sent, enqueue_ms=1, now=2, rolls=True)
    assert once == sent | {"TIMER_ENQUEUE_MS": "1", "TIMER_DEQUEUE_MS": "2", "TIMER_ROLL_TIMES": "1"}
    assert delivered_properties(once, enqueue_ms=3, now=4, rolls=True)["TIMER_ROLL_TIMES"] == "2"
    assert delivered_properties(once, enqueue_ms=3, now=4, rolls=False)["TIMER_ROLL_TIMES"] == "1"
    assert sent == {"TAGS": "a", "TIMER_OUT_MS": "5"}


DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("ahead", "limit", "wheel", "comes"),
    [
        (-5, 3 * DAY_MS, 2 * DAY_MS, -5),
        (3 * DAY_MS, 3 * DAY_MS, 2 * DAY_MS, 3 * DAY_MS),
        (3 * DAY_MS + OTHER_LIMITS_MS, 3 * DAY_MS, 2 * DAY_MS, 3 * DAY_MS + OTHER_LIMITS_MS),
        (3 * DAY_MS + OTHER_LIMITS_MS + 1, 3 * DAY_MS, 2 * DAY_MS, DAY_MS),
        (10**15, 3 * DAY_MS, 2 * DAY_MS, DAY_MS),
        ((1 << 63) - 1, 60_000, 2 * DAY_MS, 60_000),
    ],
)
def test_a_time_that_nobody_can_have_been_promised_is_not_waited_for(ahead, limit, wheel, comes):
    stored = 1_700_000_000_000
    assert believed_slot(stored + ahead, stored, limit, wheel) == stored + comes


@pytest.mark.parametrize(
    ("topic", "key", "taken"),
    [("t", "t+U", "t+U"), ("t", "tt+U", None), ("tt", "t+U", None), ("t", "U", None), ("t", "", None)],
)
def test_a_recall_takes_back_messages_of_its_own_topic_alone(topic, key, taken):
    assert taken_back({"REAL_TOPIC": topic, "TIMER_DEL_UNIQKEY": key}) == taken
    assert taken_back({"TIMER_DEL_UNIQKEY": key}) is None
