from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_kombu.directory import Binding
from mqframe_kombu.routing import fits, matching

from mqframe.core.errors import FixError

BINDINGS = [Binding("a", "x"), Binding("b", "x.*"), Binding("b", "#"), Binding("c", "y.#")]


@pytest.mark.parametrize(
    ("kind", "key", "queues"),
    [
        ("direct", "x", ["a"]),
        ("direct", "x.1", []),
        ("topic", "x", ["a", "b"]),
        ("topic", "x.1", ["b"]),
        ("topic", "y", ["b", "c"]),
        ("topic", "y.1.2", ["b", "c"]),
        ("fanout", "", ["a", "b", "c"]),
    ],
)
def test_who_gets_what(kind: str, key: str, queues: list[str]) -> None:
    assert matching(kind, BINDINGS, key) == queues


def test_other_types_are_refused() -> None:
    with pytest.raises(FixError, match="'headers'"):
        matching("headers", BINDINGS, "x")


def plainly(pattern: list[str], words: list[str]) -> bool:
    """What AMQP says, word by word."""
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(plainly(pattern[1:], words[n:]) for n in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and plainly(pattern[1:], words[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "*", "#", "a+"]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b", "aa", "a+"]), min_size=1, max_size=5),
)
def test_patterns_fit_as_amqp_says(pattern: list[str], words: list[str]) -> None:
    assert fits(".".join(pattern), ".".join(words)) is plainly(pattern, words)
