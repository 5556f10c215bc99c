"""Sends without a socket that a shorter way takes, and answers when what they wait for is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from net.in_process.clients import Client, served

from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Reply
from mqframe.net.in_process.peer import InProcessPeer


class Shorter:
    """A `FramePath` that has every send wait; `waiting`: what takes the answers, in order."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[Reply], None]] = []

    def take_one(self, request: SendMessageV2, body: Any, peer: Peer, received: float) -> Any:
        return self.waiting.append


def sent(peer: InProcessPeer, body: bytes) -> asyncio.Task[Reply]:
    send = SendMessageV2(
        topic="t", default_topic="d", producer_group="g", default_topic_queue_nums=1, queue_id=0, sys_flag=0,
        born_timestamp=0, flag=0,
    )  # fmt: skip
    return asyncio.ensure_future(peer.ask(send, body))


async def test_an_answer_of_the_shorter_way_may_come_later() -> None:
    """Until then its request counts as one that waits, whoever still wants the answer."""
    path = Shorter()
    async with served({}) as place:
        place.server.shorten(path)
        peer = place.requests.connect(Client())
        tasks = [sent(peer, b"four"), sent(peer, b"12"), sent(peer, b"x")]
        await place.settle()
        assert ([task.done() for task in tasks], place.turns) == ([False] * 3, 3)
        assert place.server._endpoint.held_bytes == 7
        tasks[1].cancel()
        for number, take in enumerate(path.waiting):
            take(Reply(number))
        await place.settle()
        assert [tasks[0].result().code, tasks[1].cancelled(), tasks[2].result().code] == [0, True, 2]
        assert place.server._endpoint.held_bytes == 0


async def test_it_may_come_at_once_and_waits_for_what_its_turn_waits_for() -> None:
    class AtOnce(Shorter):
        def take_one(self, request: SendMessageV2, body: Any, peer: Peer, received: float) -> Any:
            return lambda take: take(Reply(7))

    async with served({}) as place:
        place.server.shorten(AtOnce())
        peer = place.requests.connect(Client())
        asked = sent(peer, b"four")
        await place.settle()
        assert asked.result().code == 7
        place.until = asyncio.get_running_loop().create_future()
        asked = sent(peer, b"four")
        await place.settle()
        assert not asked.done()
        place.until.set_result(None)
        await place.settle()
        assert asked.result().code == 7
        assert place.server._endpoint.held_bytes == 0


async def test_one_that_waits_ends_with_its_peer() -> None:
    path = Shorter()
    async with served({}) as place:
        place.server.shorten(path)
        peer = place.requests.connect(Client())
        asked = sent(peer, b"four")
        await place.settle()
        peer.close("the test closes it")
        with pytest.raises(ConnectionLost, match="the test closes it"):
            await asked
        path.waiting[0](Reply())
        assert place.server._endpoint.held_bytes == 0
