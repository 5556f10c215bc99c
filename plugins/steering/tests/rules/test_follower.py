"""Which pattern has a topic, and when a topic counts as gone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_steering.rules.follower import GONE_LOOKS, GoneTopics, owner_of
from mqframe_steering.rules.patterns import TopicPattern


def test_a_topic_is_of_the_pattern_that_says_most_of_its_name() -> None:
    patterns = {text: TopicPattern(text) for text in ("orders-*", "orders-eu-*", "*-west", "letters-*")}
    assert owner_of("orders-us", patterns) == "orders-*"
    assert owner_of("orders-eu-west", patterns) == "orders-eu-*"
    assert owner_of("shop-west", patterns) == "*-west"
    assert owner_of("orders", patterns) is None
    assert owner_of("orders-us", {}) is None


def test_a_topic_is_gone_when_some_looks_in_a_row_did_not_find_it() -> None:
    gone = GoneTopics()
    for _ in range(GONE_LOOKS - 1):
        assert gone.look(["a", "b"], {"b"}) == []
    assert gone.look(["a", "b"], {"a", "b"}) == []
    for _ in range(GONE_LOOKS - 1):
        assert gone.look(["a", "b"], {"b"}) == []
    assert gone.look(["a", "b"], {"b"}) == ["a"]
    assert gone.look(["a"], ()) == [], "it is counted anew when it is followed again"


@given(st.lists(st.booleans(), max_size=30))
def test_it_is_gone_exactly_after_so_many_looks_in_a_row(found: list[bool]) -> None:
    gone, missed = GoneTopics(), 0
    for each in found:
        missed = 0 if each else missed + 1
        assert bool(gone.look(["a"], {"a"} if each else set())) is (missed == GONE_LOOKS)
        missed %= GONE_LOOKS
