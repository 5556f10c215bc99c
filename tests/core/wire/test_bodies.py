from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import FRAMES, Recorded

from mqframe.core import bodies, loosejson
from mqframe.core.message import MessageQueue
from mqframe.core.requests import REQUESTS


def body_kind(recorded: Recorded) -> Any:
    kind = REQUESTS.get(recorded.request_code)
    if kind is None:
        return None
    if recorded.request_code == 34:
        return bodies.HeartbeatData
    name = kind.BODY if recorded.side == "request" else kind.ANSWER_BODY
    return getattr(bodies, name.split()[0], None) if name else None


JSON = [
    recorded
    for recorded in FRAMES
    if recorded.facts["body"]["is"] == "JSON"
    and recorded.facts["code"] in (0, recorded.request_code)
    and body_kind(recorded) is not None
]


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            str(k) if isinstance(k, int) else k: without_nulls(v) for k, v in value.items() if v is not None
        }
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def test_there_are_recorded_bodies_of_many_kinds() -> None:
    assert len({body_kind(recorded) for recorded in JSON}) >= 12


@pytest.mark.parametrize("recorded", JSON, ids=str)
def test_recorded_bodies_decode_and_say_the_same_again(recorded: Recorded) -> None:
    text = recorded.facts["body"]["text"]
    kind = body_kind(recorded)
    body = loosejson.decode(text, kind)
    again = loosejson.dumps(body)
    assert loosejson.decode(again, kind) == body
    was, now = without_nulls(loosejson.loads(text)), without_nulls(loosejson.loads(again))
    assert {name: now[name] for name in was} == was


@pytest.mark.parametrize("recorded", [r for r in FRAMES if r.facts["body"]["is"] == "JSON"], ids=str)
def test_every_recorded_body_can_be_read_and_written(recorded: Recorded) -> None:
    value = loosejson.loads(recorded.facts["body"]["text"])
    assert loosejson.loads(loosejson.dumps(value)) == value


def test_queue_bodies_stand_for_queues() -> None:
    queue = MessageQueue("t", "b", 3)
    body = bodies.QueueBody.of(queue)
    assert body.queue == queue
    assert json.loads(loosejson.dumps(body)) == {"brokerName": "b", "queueId": 3, "topic": "t"}


def test_names_that_no_rule_gives() -> None:
    assert b'"clientID":"c"' in loosejson.dumps(bodies.HeartbeatData("c"))
    assert b'"lockOKMQSet":[]' in loosejson.dumps(bodies.LockAnswerBody())
