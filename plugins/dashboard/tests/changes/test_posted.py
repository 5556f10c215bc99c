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


@pytest.mark.parametrize("text", ["", "x", "1.5", "-", "--1", "11", "-2", "9" * 30, "١"])
def test_numbers_are_within_bounds(text):
    with pytest.raises(BadQuery, match="n: "):
        Values({"n": [text]}).number("n", -1, 10)
    assert Values({"n": [" 10 "]}).number("n", -1, 10) == 10
    assert Values({"n": ["-1"]}).number("n", -1, 10) == -1
