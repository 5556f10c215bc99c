"""Text of strangers on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.printable import printable, printable_lines, shortened

HARMFUL = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2028", "\u2066", "\ufeff"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("\x9b31m", r"\x9b31m"),
        ("abc\u202edef", r"abc\u202edef"),
        ("Grüße 東京 👨‍👩‍👧 \\n", "Grüße 東京 👨‍👩‍👧 \\n"),
    ],
)
def test_control_characters_become_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(alphabet=st.one_of(st.sampled_from(HARMFUL), st.characters())))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not set(printable(text)).intersection(HARMFUL)
    assert set(printable_lines(text)).intersection(HARMFUL) <= {"\n", "\t"}


def test_a_long_text_is_shortened_to_its_beginning_and_its_length() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "abc… (4 characters)"
