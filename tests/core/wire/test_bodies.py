from __future__ import annotations

from typing import Any

import pytest
from mqframe_admin import bodies as admin_bodies
from mqframe_admin.access import bodies as access_bodies
from mqframe_assignment.rules import bodies as assignment_bodies
from recorded import FRAMES, Recorded
from request_kinds import ROCKETMQ_S

from mqframe.core.cluster import client_bodies, route_bodies, topic_bodies
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.consuming import bodies, group_config
from mqframe.core.filtering import bodies as filter_bodies
from mqframe.core.wire import bodies as wire_bodies
from mqframe.core.wire import loose_json

BODIES = {
    name: kind
    for module in (
        bodies, client_bodies, filter_bodies, group_config, route_bodies, topic_bodies,
        wire_bodies, admin_bodies, access_bodies, assignment_bodies,
    )
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, wire_bodies.Body)
}  # fmt: skip


def body_kind(recorded: Recorded) -> Any:
    kind = ROCKETMQ_S.get(recorded.request_code)
    if kind is None:
        return None
    if recorded.request_code == 34:
        return HeartbeatData
    name = kind.BODY if recorded.side == "request" else kind.ANSWER_BODY
    return BODIES.get(name.split()[0]) if name else None


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
    body = loose_json.decode(text, kind)
    again = loose_json.dumps(body)
    assert loose_json.decode(again, kind) == body
    was, now = without_nulls(loose_json.loads(text)), without_nulls(loose_json.loads(again))
    assert {name: now[name] for name in was} == was


@pytest.mark.parametrize("recorded", [r for r in FRAMES if r.facts["body"]["is"] == "JSON"], ids=str)
def test_every_recorded_body_can_be_read_and_written(recorded: Recorded) -> None:
    value = loose_json.loads(recorded.facts["body"]["text"])
    assert loose_json.loads(loose_json.dumps(value)) == value


def test_names_that_no_rule_gives() -> None:
    assert b'"clientID":"c"' in loose_json.dumps(HeartbeatData("c"))
    assert b'"lockOKMQSet":[]' in loose_json.dumps(bodies.LockAnswerBody())


def test_the_next_version_counts_on_and_says_when():
    assert wire_bodies.DataVersion(4, 2, 100).next(200) == wire_bodies.DataVersion(5, 2, 200)
