"""Hashes of keys, made in parts, are those of the whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.messages.java_hash import index_hash
from mqframe.store.index.key_hashes import KeyHashes

KEYS = st.text(min_size=1, max_size=60) | st.text("0123456789ABCDEF", min_size=32, max_size=32)


@given(keys=st.lists(KEYS, max_size=20), topic=st.sampled_from(["t", "a longer one"]))
def test_the_hash_of_each_key(keys: list[str], topic: str) -> None:
    found = KeyHashes().pairs(topic, [(number, [key]) for number, key in enumerate(keys)], 0)
    assert found == [(index_hash(f"{topic}#{key}"), number) for number, key in enumerate(keys)]


def test_records_before_the_first_one_are_left_out() -> None:
    pairs = KeyHashes().pairs("t", [(1, ["a", "b"]), (2, ["a"])], 2)
    assert pairs == [(index_hash("t#a"), 2)]
