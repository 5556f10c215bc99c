"""Numbers in properties."""

from __future__ import annotations

import pytest

from mqframe.core.messages.whole_numbers import stated_number, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("007", 7), ("", None), (" 5", None), ("5 ", None), ("5.0", None),
        ("٣", None), ("9223372036854775807", (1 << 63) - 1), ("9223372036854775808", None), ("5\n", None),
    ],
)  # fmt: skip
def test_numbers_are_those_of_a_java_long(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("name", "number"), [("DELAY", 3), ("KEYS", None), ("LAY", None), ("TIMER_OUT_MS", -7)]
)
def test_a_property_may_state_one(name: str, number: int | None) -> None:
    assert stated_number("DELAY\x013\x02KEYS\x01k1\x02TIMER_OUT_MS\x01-7\x02", name) == number
