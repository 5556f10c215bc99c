from __future__ import annotations

import attrs

from mqframe.core.message import MessageQueue
from mqframe.core.topic_growth import GrowthState, TopicGrowth

A0, A1, B0 = MessageQueue("t", "a", 0), MessageQueue("t", "a", 1), MessageQueue("t", "b", 0)


def test_every_state_in_its_turn() -> None:
    growth = TopicGrowth("t", 3, {"a": 2, "b": 1})
    assert growth.old_queues == [A0, A1, B0]
    offsets = {"g": {A0: 5, A1: 3}}
    assert growth.state(offsets) is GrowthState.FILLING
    growth = attrs.evolve(growth, ends={A0: 5, A1: 4, B0: 2})
    assert growth.left(offsets) == {"g": 3}
    assert growth.state(offsets) is GrowthState.DRAINING
    offsets["g"] |= {A1: 9, B0: 2}
    assert growth.left(offsets) == {"g": 0}
    assert growth.state(offsets) is GrowthState.DRAINED
    assert growth.state({}) is GrowthState.DRAINED
    assert attrs.evolve(growth, before={"a": 3, "b": 3}).state(offsets) is GrowthState.STEADY


def test_messages_past_the_ends_do_not_count() -> None:
    growth = TopicGrowth("t", 3, {"a": 1}, {A0: 5})
    assert growth.left({"g": {A0: 7}, "h": {}}) == {"g": 0, "h": 5}
