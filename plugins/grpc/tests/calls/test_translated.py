"""When compiled code is asked, and what is made of what it says; what it says is its own tests' business."""

from __future__ import annotations

from typing import Any

import pytest
from doors import DoorScene, message, receive_request
from mqframe_grpc.calls.translated import Translation
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.messages import framed

from mqframe.core.requests.serving import Reply

TOPICS = {"orders": 1, "lines": 1}
TYPES = {"lines": "FIFO"}
MARKED = framed(m.ReceiveMessageResponse(message=m.Message(body=b"by compiled code")).SerializeToString())


class Compiled:
    """Says of every record that it is `MARKED`, or nothing where `knows` is unset; notes what it is asked."""

    knows = True

    def __init__(self, reserved: frozenset[str], left: frozenset[str], kinds: tuple[int, ...]) -> None:
        assert {"UNIQ_KEY", "__BORNHOST"} < reserved
        assert "POP_CK" in left
        assert kinds == (m.DigestType.MD5, m.Encoding.IDENTITY, m.MessageType.NORMAL, m.MessageType.FIFO)
        self.asked: list[tuple[Any, ...]] = []

    def translate(
        self, records: bytes, topic: str, resource: bytes, places: tuple[str, str], words: tuple[str, str]
    ) -> list[tuple[bytes, str, int, int, int, int]] | None:
        self.asked.append((topic, resource, places, words))
        offsets = [int(each) for each in places[1].split(" ")[-1].split(",")]
        return [(MARKED, f"id-{at}", offsets[0], 0, at, 100 + at) for at in offsets] if self.knows else None


def compiled_in(scene: DoorScene) -> Compiled:
    made: list[Compiled] = []

    def make(*arguments: Any) -> Compiled:
        made.append(Compiled(*arguments))
        return made[-1]

    scene.door.translate_by(make)
    return made[0]


async def test_what_it_translates_is_handed_over_and_can_be_acknowledged() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        compiled = compiled_in(scene)
        for body in (b"o-0", b"o-1"):
            await scene.send_one(message("orders", body))
        asked = receive_request("orders", "billing", auto_renew=True)
        answers = await scene.call("ReceiveMessage", asked, timeout=30.0)
        kinds = [each.WhichOneof("content") for each in answers]
        assert kinds == ["status", "message", "message", "delivery_timestamp"]
        assert [each.message.body for each in answers[1:3]] == [b"by compiled code"] * 2
        [(topic, resource, places, (words, broker))] = compiled.asked
        assert (topic, broker, places) == ("orders", "broker-a", ("0 0 0", "0 0 0,1"))
        assert m.Resource.FromString(resource) == m.Resource(name="orders")
        renewals = scene.door.renewing.renewals
        assert len(renewals) == 2
        for offset in (0, 1):
            handle = f"0 {words} broker-a 0 {offset} {100 + offset}"
            entry = m.AckMessageEntry(message_id=f"id-{offset}", receipt_handle=handle)
            [done] = await scene.call(
                "AckMessage",
                m.AckMessageRequest(
                    group=m.Resource(name="billing"), topic=m.Resource(name="orders"), entries=[entry]
                ),
            )
            assert done.status.code == m.Code.OK
        assert len(renewals) == 0


async def test_what_it_leaves_is_pythons() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        compiled = compiled_in(scene)
        compiled.knows = False
        await scene.send_one(message("orders", b"o-0"))
        assert [each.body for each in await scene.receive("orders", "billing")] == [b"o-0"]
        assert len(compiled.asked) == 1


async def test_it_is_not_asked_where_tags_or_order_matter() -> None:
    async with DoorScene(topics=TOPICS, types=TYPES) as scene:
        await scene.create_group("tracking", ordered=True)
        compiled = compiled_in(scene)
        await scene.send_one(message("orders", b"o-0", tag="paid"))
        await scene.send_one(message("lines", b"l-0", message_group="g", message_type=m.MessageType.FIFO))
        assert [each.body for each in await scene.receive("orders", "billing", expression="paid")] == [b"o-0"]
        assert [each.body for each in await scene.receive("lines", "tracking")] == [b"l-0"]
        assert compiled.asked == []


@pytest.mark.parametrize(
    "reply",
    [
        Reply(0),
        Reply(210, ext={"popTime": "1"}),
        Reply(0, ext={"popTime": "1", "invisibleTime": "2", "reviveQid": "3", "startOffsetInfo": "0 0 0"}),
        Reply(
            0,
            ext=dict.fromkeys(
                ("popTime", "invisibleTime", "reviveQid", "startOffsetInfo", "msgOffsetInfo"), ""
            ),
        ),
    ],
)
def test_other_answers_are_pythons(reply: Reply) -> None:
    assert Translation(Compiled).of(reply, m.Resource(name="orders"), "broker-a") is None
