from __future__ import annotations

import attrs
from mqframe_admin.rules.queue_expansion import ExpansionState, QueueExpansion

from mqframe.core.messages.message import MessageQueue

A0, A1, B0 = MessageQueue("t", "a", 0), MessageQueue("t", "a", 1), MessageQueue("t", "b", 0)


def test_every_state_in_its_turn() -> None:
    expansion = QueueExpansion("t", 3, {"a": 2, "b": 1})
    assert expansion.old_queues == [A0, A1, B0]
    offsets = {"g": {A0: 5, A1: 3}}
    assert expansion.state(offsets) is ExpansionState.FILLING
    expansion = attrs.evolve(expansion, ends={A0: 5, A1: 4, B0: 2})
    assert expansion.left(offsets) == {"g": 3}
    assert expansion.state(offsets) is ExpansionState.DRAINING
    offsets["g"] |= {A1: 9, B0: 2}
    assert expansion.left(offsets) == {"g": 0}
    assert expansion.state(offsets) is ExpansionState.DRAINED
    assert expansion.state({}) is ExpansionState.DRAINED
    assert attrs.evolve(expansion, before={"a": 3, "b": 3}).state(offsets) is ExpansionState.STEADY


def test_messages_past_the_ends_do_not_count() -> None:
    expansion = QueueExpansion("t", 3, {"a": 1}, {A0: 5})
    assert expansion.left({"g": {A0: 7}, "h": {}}) == {"g": 0, "h": 5}
