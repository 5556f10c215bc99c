"""Which topics a pattern means, and the parts of their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_steering.rules.patterns import TopicPattern, topic_pattern

from mqframe.core.errors import FixError
from mqframe.core.messages.names import check_group

MEANT = [
    ("orders-{region}", "orders-eu", {"region": "eu"}),
    ("orders-{region}", "orders-eu-west", {"region": "eu-west"}),
    ("orders-{region}", "orders-", None),
    ("orders-{region}", "my-orders-eu", None),
    ("orders-{region}", "ORDERS-eu", None),
    ("{shop}_orders_{region}", "corner_orders_eu", {"shop": "corner", "region": "eu"}),
    ("{shop}-{region}x", "a-b-cx", {"shop": "a", "region": "b-c"}),
    ("orders-*", "orders-eu", {}),
    ("*-orders-{region}", "my-orders-eu", {"region": "eu"}),
    ("a|{part}", "a|b", {"part": "b"}),
    ("a|{part}", "b", None),
    ("{group}-letters", "%DLQ%billing-letters", None),
    ("%DLQ%{group}", "%DLQ%billing", {"group": "billing"}),
]


@pytest.mark.parametrize(("text", "topic", "parts"), MEANT)
def test_a_pattern_means_whole_names_and_gives_their_parts(text, topic, parts) -> None:
    assert TopicPattern(text).match(topic) == parts


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("orders", "give it as the topic"),
        ("orders-{}", r"\{\} is no part"),
        ("orders-{the region}", r"\{the region\} is no part"),
        ("orders-{region}-{region}", r"two parts \{region\}"),
        ("{shop}-{region}", "means every topic"),
        ("*", "means every topic"),
        ("orders.{region}", "may hold only"),
        ("orders-{region", "give it as the topic"),
        ("orders-{region}}", "may hold only"),
        ("a" * 127 + "{part}", "128 characters, 127 are allowed|has 128 characters"),
    ],
)
def test_what_means_nothing_or_everything_is_an_error(text, match) -> None:
    with pytest.raises(FixError, match=match):
        TopicPattern(text)


def test_patterns_are_made_once_and_are_equal_by_their_texts() -> None:
    assert topic_pattern("orders-{region}") is topic_pattern("orders-{region}")
    assert TopicPattern("orders-{region}") == topic_pattern("orders-{region}")


def test_patterns_sort_by_how_much_they_say() -> None:
    texts = ["orders-{region}", "orders-{region}-new", "orders-*-{region}", "{all}-{of}-new"]
    assert sorted(texts, key=lambda text: TopicPattern(text).rank) == [
        "{all}-{of}-new",
        "orders-{region}",
        "orders-*-{region}",
        "orders-{region}-new",
    ]


def test_a_group_can_be_named_after_a_pattern() -> None:
    assert TopicPattern("orders-{region}").as_name == "orders-_region_"
    assert TopicPattern("orders-*").as_name == "orders-__"
    check_group(TopicPattern("orders-{region}").as_name)


@given(st.from_regex("[%|a-zA-Z0-9_-]{1,20}", fullmatch=True))
def test_whatever_a_topic_may_be_made_of_is_a_part(part) -> None:
    assert TopicPattern("orders-{part}").match(f"orders-{part}") == {"part": part}
