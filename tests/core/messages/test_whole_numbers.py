"""Numbers in properties."""

from __future__ import annotations

import pytest

from mqframe.core.messages.whole_numbers import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5), ("-5", -5), ("+5", 5), ("007", 7), ("", None), (" 5", None), ("5 ", None), ("5.0", None),
        ("٣", None), ("9223372036854775807", (1 << 63) - 1), ("9223372036854775808", None), ("5\n", None),
    ],
)  # fmt: skip
def test_numbers_are_those_of_a_java_long(text, number):
    assert whole_number(text) == number
