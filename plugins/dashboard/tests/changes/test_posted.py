"""Values of forms."""

from __future__ import annotations

import pytest
from mqframe_dashboard.changes.posted import Values
from mqframe_dashboard.query import BadQuery


def test_values_are_single_or_several():
    values = Values({"id": ["1", "", "2"], "box": ["1"], "off": [""]})
    assert values.each("id") == ["1", "2"]
    assert values.text("id") == "2"
    assert values.each("none") == []
    assert (values.ticked("box"), values.ticked("off"), values.ticked("none")) == (True, False, False)


def test_long_texts_are_as_they_were_typed():
    values = Values({"body": ["", " a\r\nb\n "], "long": ["x" * 11]})
    assert values.long_text("body", 10) == " a\nb\n "
    assert values.long_text("none", 10) == ""
    with pytest.raises(BadQuery, match="long: 11 characters are too many; at most 10"):
        values.long_text("long", 10)


@pytest.mark.parametrize("text", ["", "x", "1.5", "-", "--1", "11", "-2", "9" * 30, "١"])
def test_numbers_are_within_bounds(text):
    with pytest.raises(BadQuery, match="n: "):
        Values({"n": [text]}).number("n", -1, 10)
    assert Values({"n": [" 10 "]}).number("n", -1, 10) == 10
    assert Values({"n": ["-1"]}).number("n", -1, 10) == -1
