"""What becomes of a request that compiled code has read; what it reads is its own tests' business."""

from __future__ import annotations

from typing import Any

import pytest
from doors import DoorScene, message
from google.protobuf.message import DecodeError
from mqframe_grpc.calls.ordinary_sends import OrdinarySend, SendRequests
from mqframe_grpc.door import SERVICE
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.send_checks import SendLimits

TEXT = "colour\x01red\x02UNIQ_KEY\x01ID-1\x02PGROUP\x01orders\x02"


class Compiled:
    """Finds an ordinary send of `found` in each request; notes what it is made with."""

    found: Any = ("orders", "ID-1", "", TEXT, b"body", 1_795_971_784_123)

    def __init__(self, reserved: frozenset[str], limits: tuple[int, ...]) -> None:
        assert "UNIQ_KEY" in reserved
        assert limits == (5, 6, 7, 8)

    def read(self, request: bytes) -> Any:
        return self.found


class Leaving(Compiled):
    found = None


LIMITS = SendLimits(body_bytes_max=5, properties_bytes_max=6, properties_max=7, group_bytes_max=8)


async def test_it_is_stored_with_its_properties_and_answered() -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        door = scene.door
        door.read_sends_by(lambda reserved, limits: Compiled(reserved, (5, 6, 7, 8)))
        asked = door.methods()[f"{SERVICE}SendMessage"].asked.FromString(b"whatever")
        [answer] = await scene.call("SendMessage", asked)
        assert answer.status.code == m.Code.OK
        [entry] = answer.entries
        assert (entry.message_id, entry.transaction_id, entry.offset) == ("ID-1", "ID-1", 0)
        [found] = await scene.receive("orders", "billing")
        assert (found.body, dict(found.user_properties)) == (b"body", {"colour": "red"})
        assert found.system_properties.message_id == "ID-1"
        assert found.system_properties.born_timestamp.seconds == 1_795_971_784


@pytest.mark.parametrize(
    ("topic", "group", "code"),
    [
        ("a b", "", m.Code.ILLEGAL_TOPIC),
        ("nobodys", "", m.Code.TOPIC_NOT_FOUND),
        ("orders", "g", m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        ("lines", "", m.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE),
        ("lines", "g", m.Code.OK),
    ],
)
async def test_topic_and_type_are_checked_as_ever(topic: str, group: str, code: m.Code) -> None:
    async with DoorScene(topics={"orders": 1, "lines": 4}, types={"lines": "FIFO"}) as scene:
        found = (topic, "ID-1", group, TEXT, b"body", 1)
        kind = type("Found", (Compiled,), {"found": found})
        door = scene.door
        door.read_sends_by(lambda reserved, limits: kind(reserved, (5, 6, 7, 8)))
        asked = door.methods()[f"{SERVICE}SendMessage"].asked.FromString(b"")
        [answer] = await scene.call("SendMessage", asked)
        assert answer.status.code == code


def test_what_it_leaves_is_protobufs() -> None:
    asked = m.SendMessageRequest(messages=[message("orders", b"o-0")])
    reads = SendRequests(Leaving, LIMITS)
    assert reads.FromString(asked.SerializeToString()) == asked
    with pytest.raises(DecodeError):
        reads.FromString(b"\xff")


def test_the_draft_tells_the_type_and_has_the_rest_as_text() -> None:
    reads = SendRequests(type("Grouped", (Compiled,), {"found": ("t", "ID", "g", TEXT, b"b", 7)}), LIMITS)
    found = reads.FromString(b"")
    assert isinstance(found, OrdinarySend)
    assert (found.name, found.draft) == ("t", ("ID", {"__SHARDINGKEY": "g"}, b"b", 0, 7, "g", TEXT))
