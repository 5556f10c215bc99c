from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import properties

from mqframe.core.messages.properties import (
    RESERVED,
    decode_properties,
    encode_properties,
    find_property,
    plain_text,
)


@given(properties)
def test_properties_survive(pairs: dict[str, str]) -> None:
    text = encode_properties(pairs)
    assert decode_properties(text) == pairs
    assert list(decode_properties(text)) == list(pairs)
    assert decode_properties(text.removesuffix("\x02")) == pairs


@given(st.text("ab\x01\x02", max_size=30), st.sampled_from(["a", "b", "ab"]))
def test_finding_one_agrees_with_splitting_all(text: str, name: str) -> None:
    assert find_property(text, name) == decode_properties(text).get(name)


def test_empty_names_and_values_are_dropped() -> None:
    assert encode_properties({"a": "", "": "b", "c": "d"}) == "c\x01d\x02"
    assert decode_properties("a\x01\x02\x01b\x02plain\x02c\x01d\x02") == {"c": "d"}


def test_of_two_the_last_counts() -> None:
    text = "k\x011\x02xk\x019\x02k\x012\x02"
    assert decode_properties(text) == {"k": "2", "xk": "9"}
    assert find_property(text, "k") == "2"
    assert find_property(text, "xk") == "9"
    assert find_property(text, "y") is None


def test_reserved_names() -> None:
    assert {"UNIQ_KEY", "__transactionId__", "DELAY", "TAGS"} <= RESERVED


def test_a_text_of_any_kind_becomes_a_value() -> None:
    assert plain_text("a\x01b\x02c\n  d\x7f", 100) == "a b c d"
    assert plain_text("订单" * 10, 4) == "订单订…"
    assert plain_text("abcd", 4) == "abcd"
