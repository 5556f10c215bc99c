"""What is wrong with a schedule is said with what to do."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_schedules.bodies import Schedule
from mqframe_schedules.checks import body_bytes, check, properties_of

from mqframe.core.errors import FixError

GOOD: dict[str, Any] = {"name": "report", "expression": "* * * * *", "topic": "orders", "body": "x"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "1 to 100 letters"),
        ({"name": "a b"}, "1 to 100 letters"),
        ({"missed": "some"}, "say one of skip, one, all"),
        ({"queue_id": -2}, "queue -2; give a queue id, or -1"),
        ({"topic": ""}, "topic name is empty"),
        ({"topic": "a b"}, "may hold only letters"),
        ({"body": ""}, "its body has 0 bytes; give 1 to 100"),
        ({"body": "x" * 101}, "its body has 101 bytes; give 1 to 100"),
        ({"body": "ä" * 51}, "its body has 102 bytes"),
        ({"body": "!", "is_base64": True}, "is no Base64"),
        ({"properties": {"DELAY": "3"}}, "property DELAY is set by the system"),
        ({"properties": {"SCHEDULE_TIME": "3"}}, "property SCHEDULE_TIME is set by the system"),
        ({"properties": {"a": ""}}, "has no name or no value"),
        ({"properties": {"a": "x\x02DELAY\x013"}}, "characters 1 and 2"),
        ({"tag": "x\x02DELAY\x013"}, "characters 1 and 2"),
        ({"keys": ["a b"]}, "a key is empty or has a blank"),
        ({"properties": {"a": "x" * 20_000}}, "too long"),
    ],
)
def test_bad_schedules_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(FixError) as caught:
        check(Schedule(**GOOD | change), 100)
    assert said in str(caught.value)


def test_messages_say_what_sent_them() -> None:
    made = Schedule(**GOOD, tag="daily", keys=["k1", "k2"], properties={"region": "north"}, number=7)
    check(made, 100)
    assert properties_of(made, 1_000) == {
        "region": "north",
        "TAGS": "daily",
        "KEYS": "k1 k2",
        "SCHEDULE": "report",
        "SCHEDULE_NUMBER": "7",
        "SCHEDULE_TIME": "1000",
    }
    assert body_bytes(made) == b"x"
    assert body_bytes(Schedule(**GOOD | {"body": "AAH/", "is_base64": True})) == b"\x00\x01\xff"
