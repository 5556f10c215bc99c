from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest
from doors import CLIENT, DoorScene, MemoryCall, message, receive_request
from mqframe_grpc.backend import Backend
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.proto import messages as m

from mqframe.core.requests.fields import Request
from mqframe.core.requests.serving import Reply
from mqframe.core.wire.frame import Body

TOPICS = {"orders": 1}
TURNS_MAX = 60
SAME_HASH = ("Aa", "BB")
PUSH, SIMPLE = True, False
COMPRESSED = 1


class Slow:
    """A backend that takes some turns of the loop for each request, and for each answer but that of a pop."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def ask(self, client: DoorClient, broker: str, request: Request, body: Body = b"") -> Reply:
        for _ in range(2):
            await asyncio.sleep(0)
        reply = await self._backend.ask(client, broker, request, body)
        if type(request).__name__ != "PopMessage":
            for _ in range(2):
                await asyncio.sleep(0)
        return reply


class SlowScene(DoorScene):
    """Its calls can be given up between all of their steps."""

    async def backend(self) -> Backend:
        return Slow(await super().backend())

    async def give_up_after(self, turns: int, held: MemoryCall) -> bool:
        """Whether the call had not ended by then."""
        for _ in range(turns):
            await asyncio.sleep(0)
        if held.task.done():
            return False
        held.cancel()
        await asyncio.gather(held.task, return_exceptions=True)
        return True

    async def left(self, group: str, seconds: float = 3.0) -> list[bytes]:
        """What another member gets soon after; nothing may be hidden for longer."""
        await self.pass_time(seconds)
        found = await self.receive("orders", group, "b@1", seconds=5.0)
        return sorted(each.body for each in found)


async def every_step(prepare: Any, asked: m.ReceiveMessageRequest, look: Any) -> int:
    """Give a receive up after each number of turns until one ends before that; how often it was given up."""
    for turns in range(1, TURNS_MAX):
        async with SlowScene(topics=TOPICS) as scene:
            await prepare(scene)
            held = scene.begin("ReceiveMessage", asked, timeout=25.0)
            if not await scene.give_up_after(turns, held):
                return turns
            await look(scene)
    raise AssertionError("it does not end")


def asked(*, renewed: bool, expression: str = "*") -> m.ReceiveMessageRequest:
    return receive_request(
        "orders", "billing", expression=expression, seconds=20.0, invisible_seconds=600, auto_renew=renewed
    )


@pytest.mark.parametrize("renewed", [SIMPLE, PUSH])
async def test_others_get_soon_what_a_receive_had_that_is_given_up_while_other_tags_are_put_away(
    *, renewed: bool
) -> None:
    async def prepare(scene: SlowScene) -> None:
        for number in range(3):
            for tag in SAME_HASH:
                await scene.send_one(message("orders", f"{tag} {number}".encode(), tag=tag))

    async def look(scene: SlowScene) -> None:
        request = receive_request("orders", "billing", expression="Aa", seconds=5.0)
        await scene.pass_time(3.0)
        answers = await scene.call("ReceiveMessage", request, "b@1", 9.0)
        assert sorted(each.message.body for each in answers[1:-1]) == [b"Aa 0", b"Aa 1", b"Aa 2"]
        assert len(scene.door.renewing.renewals) == 0

    assert await every_step(prepare, asked(renewed=renewed, expression="Aa"), look) > 10


async def test_others_get_soon_what_a_receive_had_that_is_given_up_while_it_makes_dead_letters() -> None:
    async def prepare(scene: SlowScene) -> None:
        for body in (b"dead 1", b"dead 2"):
            await scene.send_one(message("orders", body))
        assert len(await scene.receive("orders", "billing", invisible_seconds=10)) == 2
        await scene.pass_time(12.0)
        assert len(await scene.receive("orders", "billing", invisible_seconds=20)) == 2
        for body in (b"1", b"2"):
            await scene.send_one(message("orders", body))
        assert len(await scene.receive("orders", "billing", invisible_seconds=10)) == 2
        await scene.pass_time(30.0)
        assert scene.bodies("%DLQ%billing") == []
        await scene.create_group("billing", retries=1)

    async def look(scene: SlowScene) -> None:
        # With what is given back a try is over: of one there are none left.
        again = await scene.left("billing")
        assert sorted([*again, *scene.bodies("%DLQ%billing")]) == [b"1", b"2", b"dead 1", b"dead 2"]

    assert await every_step(prepare, asked(renewed=SIMPLE), look) > 10


async def received_as_it_is_sent(scene: DoorScene, turns: int) -> tuple[MemoryCall, MemoryCall]:
    """A receive that waits, and so many turns of the loop later what is sent meanwhile."""
    held = scene.begin("ReceiveMessage", asked(renewed=SIMPLE), timeout=25.0)
    await scene.pass_time(1.0)
    sending = scene.begin("SendMessage", m.SendMessageRequest(messages=[message("orders", b"1")]), "p@1")
    for _ in range(turns):
        await asyncio.sleep(0)
    return held, sending


async def test_others_get_soon_what_came_as_a_receive_was_given_up_that_waits() -> None:
    given_up = 0
    for turns in range(1, TURNS_MAX):
        async with DoorScene(topics=TOPICS) as scene:
            held, sending = await received_as_it_is_sent(scene, turns)
            if held.task.done():
                break
            given_up += 1
            held.cancel()
            await asyncio.gather(held.task, return_exceptions=True)
            await scene.finish(sending.task)
            await scene.pass_time(3.0)
            assert [each.body for each in await scene.receive("orders", "billing", "b@1")] == [b"1"], turns
    assert given_up > 1


async def test_what_came_as_the_door_stops_is_handed_over() -> None:
    for turns in range(6):
        async with DoorScene(topics=TOPICS) as scene:
            held, sending = await received_as_it_is_sent(scene, turns)
            scene.door.leave()
            await scene.finish(sending.task)
            answers = await scene.finish(held.task)
            bodies = [each.message.body for each in answers if each.WhichOneof("content") == "message"]
            await scene.close_door()
            await scene.open_door()
            bodies += [each.body for each in await scene.receive("orders", "billing", "b@1")]
            assert bodies == [b"1"], turns


async def test_a_body_that_nobody_can_read_is_a_dead_letter_at_once() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        writer = scene.cluster.broker.service_port.writer
        now_ms = scene.clock.now_ms()
        broken = zlib.compress(b"x" * 10_000)[:-7]
        writer.put("orders", 0, broken, {"UNIQ_KEY": "K" * 32}, born_timestamp=now_ms, sys_flag=COMPRESSED)
        await scene.send_one(message("orders", b"1"))
        assert [each.body for each in await scene.receive("orders", "billing")] == [b"1"]
        [letter] = scene.stored("%DLQ%billing")
        assert (letter.message_id, letter.stored_body) == ("K" * 32, broken)
        await scene.pass_time(40.0)
        assert [each.body for each in await scene.receive("orders", "billing")] == [b"1"]
        assert len(scene.stored("%DLQ%billing")) == 1


async def test_a_door_stops_quietly_while_what_it_gives_back_is_being_renewed() -> None:
    async with SlowScene(topics=TOPICS) as scene:
        await scene.send_one(message("orders", b"1"))
        [_] = await scene.receive("orders", "billing", auto_renew=True)
        renewing = scene.door.renewing
        entry = next(iter(renewing.renewals.due(renewing.now_ms() + 55_000).renew))
        renewal = asyncio.ensure_future(renewing._renew(entry))
        await asyncio.sleep(0)
        client = scene.door.clients.known({"x-mq-client-id": CLIENT})
        assert client is not None
        renewing.give_back(client)
        await asyncio.sleep(0)
        renewing.stop()
        await scene.finish(renewal)
