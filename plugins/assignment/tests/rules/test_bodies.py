"""Bodies as Java writes and reads them."""

from __future__ import annotations

from mqframe_assignment.rules.bodies import (
    Assignment,
    AssignmentsBody,
    QueryAssignmentBody,
    RequestModeBody,
    RequestModeTable,
)

from mqframe.core.consuming.bodies import QueueBody
from mqframe.core.wire.loose_json import decode, dumps, loads


def test_a_member_asks_without_saying_more_than_who_it_is() -> None:
    body = decode(b'{"topic":"t","consumerGroup":"g","clientId":"c"}', QueryAssignmentBody)
    assert (body.message_model, body.strategy_name) == ("CLUSTERING", None)


def test_assignments_are_written_by_java_s_names() -> None:
    body = AssignmentsBody([Assignment(QueueBody("b", -1, "t"), "POP")])
    assert loads(dumps(body)) == {
        "messageQueueAssignments": [
            {"messageQueue": {"brokerName": "b", "queueId": -1, "topic": "t"}, "mode": "POP"}
        ]
    }
    assert decode(b"{}", AssignmentsBody).message_queue_assignments is None


def test_modes_are_saved_by_topic_then_by_group() -> None:
    table = RequestModeTable({"t": {"g": RequestModeBody("t", "g", "POP", 3)}})
    saved = {
        "messageRequestModeMap": {
            "t": {"g": {"topic": "t", "consumerGroup": "g", "mode": "POP", "popShareQueueNum": 3}}
        }
    }
    assert loads(dumps(table)) == saved
    assert decode(dumps(saved), RequestModeTable) == table
