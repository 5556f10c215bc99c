"""How far a topic is that leaves a broker, and how it is made elsewhere."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.topic_move import MoveState, TopicMove, at_target, check_targets

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import FixError

THERE = {"broker-b": 4}


def test_its_state_follows_from_what_may_be_done_there_and_what_is_left() -> None:
    assert TopicMove("t", "a", THERE, 6, {"g": 0}, 0, 0).state is MoveState.HERE
    assert TopicMove("t", "a", THERE, 4, {"g": 3}, 9, 0).state is MoveState.LEAVING
    assert TopicMove("t", "a", THERE, 4, {"g": 0}, 9, 0).state is MoveState.EMPTY
    assert TopicMove("t", "a", THERE, 4, {}, 0, 0).state is MoveState.EMPTY
    assert TopicMove("t", "a", THERE, 0, {}, 0, 0).state is MoveState.GONE


def test_what_would_be_lost_is_said_by_name() -> None:
    found = TopicMove("t", "a", THERE, 4, {"done": 0, "late": 3}, 9, 2)
    assert found.objections == (
        "3 messages for group late",
        "2 delayed or half messages of the broker, which may be of this topic",
    )
    nobody = TopicMove("t", "a", THERE, 4, {}, 9, 0)
    assert nobody.objections == ("9 messages, which no group consumes",)


def test_a_topic_is_made_elsewhere_as_it_is_here_and_kept_where_it_is() -> None:
    attributes = {"message.type": "FIFO"}
    here = TopicConfig(attributes, True, 4, 8, "SINGLE_TAG", "t", 0, 8)
    assert at_target(here, None) == TopicConfig(attributes, True, 6, 8, "SINGLE_TAG", "t", 0, 8)
    there = TopicConfig({}, True, 6, 3, "SINGLE_TAG", "t", 0, 2)
    assert at_target(here, there) == there


def test_a_topic_goes_to_other_brokers_only() -> None:
    with pytest.raises(FixError, match="name at least one broker"):
        check_targets("t", "a", {})
    with pytest.raises(FixError, match="broker a cannot take it in place of itself"):
        check_targets("t", "a", {"a": None, "b": None})
