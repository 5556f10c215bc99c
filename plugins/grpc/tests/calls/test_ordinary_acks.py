"""What becomes of acknowledgements that compiled code has read; what it reads is its own tests' business."""

from __future__ import annotations

from typing import Any

import pytest
from doors import CLIENT, DoorScene, acknowledgement, message
from google.protobuf.message import DecodeError
from mqframe_grpc.calls.ordinary_acks import AckRequests, OrdinaryAck
from mqframe_grpc.door import SERVICE
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.acks import OK_STATUS, all_done
from mqframe_grpc.rules.handles import DoorHandle


class Compiled:
    """Reads every request of one message."""

    def __init__(self, status: bytes) -> None:
        assert status == OK_STATUS

    def read(self, request: bytes) -> Any:
        asked = m.AckMessageRequest.FromString(request)
        if len(asked.entries) != 1:
            return None
        [entry] = asked.entries
        name, text = entry.message_id, entry.receipt_handle
        words, place = DoorHandle.parse(text)
        done = all_done([(name, text)]).SerializeToString()
        return asked.topic.name, asked.group.name, name, text, tuple(words), place, done


async def acknowledged(scene: DoorScene, request: m.AckMessageRequest, client: str = CLIENT) -> Any:
    scene.door.read_acks_by(Compiled)
    asked = scene.door.methods()[f"{SERVICE}AckMessage"].asked.FromString(request.SerializeToString())
    assert isinstance(asked, OrdinaryAck)
    [answer] = await scene.call("AckMessage", asked, client)
    return answer


@pytest.mark.parametrize("renewed", [False, True])
async def test_it_is_done_and_answered(renewed: bool) -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        for body in (b"1", b"2"):
            await scene.send_one(message("orders", body))
        first, _ = await scene.receive("orders", "billing", **({"auto_renew": True} if renewed else {}))
        assert len(scene.door.renewing.renewals) == (2 if renewed else 0)
        answer = await acknowledged(scene, acknowledgement("billing", [first]))
        said = first.system_properties
        assert answer.status.code == m.Code.OK
        [entry] = answer.entries
        assert (entry.message_id, entry.receipt_handle) == (said.message_id, said.receipt_handle)
        assert entry.status.code == m.Code.OK
        assert len(scene.door.renewing.renewals) == (1 if renewed else 0)
        again = await acknowledged(scene, acknowledgement("billing", [first]))
        [entry] = again.entries
        assert again.status.code == entry.status.code == m.Code.INVALID_RECEIPT_HANDLE
        assert (entry.message_id, entry.receipt_handle) == (said.message_id, said.receipt_handle)
        assert "not in flight" in entry.status.message


@pytest.mark.parametrize(
    ("topic", "group", "code"),
    [("a b", "billing", m.Code.ILLEGAL_TOPIC), ("orders", "a b", m.Code.ILLEGAL_CONSUMER_GROUP)],
)
async def test_names_are_checked_as_ever(topic: str, group: str, code: m.Code) -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        await scene.send_one(message("orders", b"1"))
        request = acknowledgement(group, await scene.receive("orders", "billing"))
        request.topic.name = topic
        answer = await acknowledged(scene, request)
        assert (answer.status.code, len(answer.entries)) == (code, 0)


def test_what_it_leaves_is_protobufs() -> None:
    reads = AckRequests(Compiled)
    asked = m.AckMessageRequest(entries=[m.AckMessageEntry(), m.AckMessageEntry()])
    assert reads.FromString(asked.SerializeToString()) == asked
    with pytest.raises(DecodeError):
        AckRequests(lambda status: type("Leaving", (), {"read": lambda *_: None})()).FromString(b"\xff")
