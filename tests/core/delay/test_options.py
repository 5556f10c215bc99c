from datetime import UTC, datetime, timedelta, timezone

import pytest

from mqframe.core.delay.options import DELAY_HINT, DELAY_NAMES, delay_properties
from mqframe.core.errors import MessageError


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((0, None, None), "TIMER_DELAY_MS\x010\x02"),
        ((1.5, None, None), "TIMER_DELAY_MS\x011500\x02"),
        ((0.0001, None, None), "TIMER_DELAY_MS\x011\x02"),
        ((timedelta(days=3), None, None), "TIMER_DELAY_MS\x01259200000\x02"),
        ((None, 1_700_000_000_001, None), "TIMER_DELIVER_MS\x011700000000001\x02"),
        (
            (None, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), None),
            "TIMER_DELIVER_MS\x011700000000000\x02",
        ),
        (
            (None, datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=timezone(timedelta(hours=0))), None),
            "TIMER_DELIVER_MS\x011700000000001\x02",
        ),
        ((None, None, 3), "DELAY\x013\x02"),
        ((None, None, 99), "DELAY\x0199\x02"),
    ],
)
def test_a_wish_in_properties(options, text):
    assert delay_properties(*options) == text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((1, None, 1), "give one of"),
        ((1, 1_700_000_000_000, None), "give one of"),
        ((-1, None, None), "cannot be negative"),
        ((timedelta(seconds=-1), None, None), "cannot be negative"),
        ((float("nan"), None, None), "give seconds or a timedelta"),
        ((float("inf"), None, None), "give seconds or a timedelta"),
        ((1e30, None, None), "nor longer than time"),
        (("5", None, None), "give seconds or a timedelta"),
        ((True, None, None), "give seconds or a timedelta"),
        ((None, datetime(2030, 1, 1), None), "without a time zone"),
        ((None, 1_700_000_000, None), "not seconds"),
        ((None, 1_700_000_000.5, None), "give a datetime or whole ms"),
        ((None, True, None), "give a datetime or whole ms"),
        ((None, 1 << 63, None), "give ms since"),
        ((None, None, 0), "the first level is 1"),
        ((None, None, -3), "the first level is 1"),
        ((None, None, 1 << 31), "the first level is 1"),
        ((None, None, 1.0), "give a whole number"),
        ((None, None, True), "give a whole number"),
    ],
)
def test_a_wish_that_means_nothing(options, words):
    with pytest.raises(MessageError, match=words):
        delay_properties(*options)


def test_a_quick_look_for_the_hint_misses_no_name():
    assert all(DELAY_HINT in name for name in DELAY_NAMES)
