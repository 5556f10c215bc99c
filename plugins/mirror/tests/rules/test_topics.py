"""Topics are chosen by names and patterns, never the system's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_mirror.rules.topics import TopicChoice, chosen_groups, is_internal

from mqframe.core.errors import SettingError
from mqframe.core.messages.names import DEFAULT_TOPIC, HALF_TOPIC, TRACE_TOPIC

THERE = [
    "orders",
    "orders-eu",
    "orders-us",
    "payments",
    "berlin_orders-eu",
    "%RETRY%g",
    "%DLQ%g",
    DEFAULT_TOPIC,
]


def chosen(*wanted: str, **said) -> list[str]:
    hidden = said.pop("hidden", ())
    return TopicChoice(wanted, **said).chosen(THERE, hidden, "berlin")


def test_topics_are_chosen_by_name_and_by_pattern() -> None:
    assert chosen("orders", "gone") == ["orders"]
    assert chosen("orders-*") == ["orders-eu", "orders-us"]
    assert chosen("*") == ["berlin_orders-eu", "orders", "orders-eu", "orders-us", "payments"]
    assert chosen("*", excluded=["orders*", "*_*"]) == ["payments"]
    assert chosen("*", hidden={"payments"}, excluded=["orders*"]) == ["berlin_orders-eu"]


def test_patterns_do_not_mean_what_a_mirror_of_the_same_names_brought() -> None:
    assert chosen("*eu", rename="{cluster}_{topic}") == ["orders-eu"]
    assert chosen("berlin_orders-eu", rename="{cluster}_{topic}") == ["berlin_orders-eu"]


def test_names_that_are_not_there_are_known() -> None:
    assert TopicChoice(["orders", "gone", "none-*"]).missing(THERE) == {"gone"}


def test_topics_are_called_as_was_said() -> None:
    assert TopicChoice(["a"]).target("a", "tokyo") == "a"
    assert TopicChoice(["a"], rename="{cluster}_{topic}").target("a", "tokyo") == "tokyo_a"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"wanted": []}, "name those to copy"),
        ({"wanted": ["%RETRY%g"]}, "the system's own"),
        ({"wanted": [HALF_TOPIC]}, "the system's own"),
        ({"wanted": ["a"], "rename": "all"}, "has to hold {topic}"),
        ({"wanted": ["a"], "rename": "{topic}{broker}"}, "has to hold {topic}"),
        ({"wanted": ["a"], "rename": "{topic"}, "rename"),
        ({"wanted": ["a"], "rename": "{cluster}.{topic}"}, "may hold only letters"),
    ],
)
def test_what_makes_no_sense_is_refused(said: dict, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        TopicChoice(**said)


@given(st.sampled_from([TRACE_TOPIC, HALF_TOPIC, "rmq_sys_wheel_timer", "%RETRY%a", "%DLQ%a"]))
def test_the_systems_topics_are_known_by_name(topic: str) -> None:
    assert is_internal(topic)
    assert TopicChoice(["*"]).chosen([topic], (), "berlin") == []


def test_groups_are_chosen_likewise_but_for_those_of_mirrors() -> None:
    there = ["billing", "ship-eu", "ship-us"]
    assert chosen_groups([*there, "tax"], ["ship-*", "billing"]) == there
    assert chosen_groups(there, []) == []
    assert chosen_groups([*there, "mirror-a-b", "TOOLS_CONSUMER"], ["*"]) == there
    assert chosen_groups(["mirror-shop", "mirror-a-b"], ["mirror-shop"]) == ["mirror-shop"]
