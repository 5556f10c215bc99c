"""Hashes of keys, made in parts, are those of the whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_index.store.key_hashes import KeyHashes, index_hash

from mqframe.core.messages.java_hash import java_hash

KEYS = st.text(min_size=1, max_size=60) | st.text("0123456789ABCDEF", min_size=32, max_size=32)


@given(keys=st.lists(KEYS, max_size=20), topic=st.sampled_from(["t", "a longer one"]))
def test_the_hash_of_each_key(keys: list[str], topic: str) -> None:
    found = KeyHashes().pairs(topic, [(number, [key]) for number, key in enumerate(keys)], 0)
    assert found == [(index_hash(f"{topic}#{key}"), number) for number, key in enumerate(keys)]


def test_records_before_the_first_one_are_left_out() -> None:
    pairs = KeyHashes().pairs("t", [(1, ["a", "b"]), (2, ["a"])], 2)
    assert pairs == [(index_hash("t#a"), 2)]


@given(text=st.text(max_size=40))
def test_no_hash_is_negative(text: str) -> None:
    signed = java_hash(text)
    assert index_hash(text) == (0 if signed == -(2**31) else abs(signed))


def test_what_has_no_positive_twin_is_zero() -> None:
    assert index_hash("polygenelubricants") == 0
