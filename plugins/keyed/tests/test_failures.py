"""What becomes of a call that failed while its key waits."""

from __future__ import annotations

import pytest
from keyed_scenes import GROUP, LATER, OK, KeyedScene

from mqframe import Message
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import answer_error
from mqframe.core.messages.message import ReceivedMessage


async def test_a_listener_gives_up_at_once() -> None:
    async with KeyedScene() as scene:
        member = await scene.join()

        async def handle(message, context):
            context.delay_level_when_next_consume = -1
            return LATER

        scene.handles = handle
        await scene.put(b"a-0", b"a-1")
        await scene.until(lambda: scene.dead == [b"a-0", b"a-1"] and scene.committed() == 2)
        assert member.got == [(b"a-0", 0), (b"a-1", 0)]


@pytest.mark.parametrize(("choice", "dead", "tries"), [("dead_letter", [b"{"], 1), ("drop", [], 1)])
async def test_a_body_that_cannot_be_decoded(choice: str, dead: list[bytes], tries: int) -> None:
    async with KeyedScene() as scene:
        got = []

        async def handle(value: dict[str, int]) -> None:
            got.append(value)

        consumer = scene.make(mode_options={"key": lambda message: "one"})
        consumer.subscribe("orders", "*", handle, type=dict[str, int], on_decode_error=choice)
        await scene.open(consumer)
        await scene.put(b"{", b'{"a": 1}')
        await scene.until(lambda: got == [{"a": 1}] and scene.dead == dead and scene.committed() == 2)
        if dead:
            [letter] = scene.stored(f"%DLQ%{GROUP}")
            assert "MQFRAME_REASON" in letter.properties
            assert letter.properties["RETRY_TOPIC"] == "orders"


async def test_a_body_that_cannot_be_decoded_now_may_be_tried_again() -> None:
    async with KeyedScene() as scene:
        tries = []

        async def handle(value: dict[str, int], message: ReceivedMessage) -> None: ...

        def look(message: ReceivedMessage) -> str:
            tries.append(message.body)
            return "one"

        consumer = scene.make(settings={"max_reconsume_times": 2}, mode_options={"key": look})
        consumer.subscribe("orders", "*", handle, type=dict[str, int], on_decode_error="retry")
        await scene.open(consumer)
        await scene.put(b"{")
        await scene.until(lambda: scene.dead == [b"{"] and scene.committed() == 1)
        assert tries == [b"{"], "a key is asked for once, however often its message comes again"


async def test_a_dead_letter_that_cannot_be_sent_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with KeyedScene() as scene:
        member = await scene.join(settings={"max_reconsume_times": 0})
        refused = []

        async def resend(self, message, delay_level=0, reason=""):
            refused.append((message.body, delay_level))
            if len(refused) < 3:
                raise answer_error(ResponseCode.SYSTEM_BUSY, "busy", "broker")

        monkeypatch.setattr("mqframe.client.consuming.push.send_back.SendBack.resend", resend)

        async def handle(message, context):
            return LATER if message.body == b"a-0" else OK

        scene.handles = handle
        await scene.put(b"a-0", b"a-1")
        await scene.until(lambda: scene.committed() == 2)
        assert member.got == [(b"a-0", 0), (b"a-0", 1), (b"a-0", 2), (b"a-1", 0)]
        assert refused == [(b"a-0", -1)] * 3


async def test_who_asked_hears_that_the_handler_failed() -> None:
    async with KeyedScene() as scene:
        member = await scene.join()

        async def handle(message, context):
            raise ValueError("no stock")

        scene.handles = handle
        with pytest.raises(Exception, match="no stock"):
            await scene.finish(scene.producer.request(Message("orders", b"a-0"), timeout=20.0))
        await scene.until(lambda: scene.committed() == 1)
        assert member.got == [(b"a-0", 0)]
