"""Calls to the cluster are bounded in time and number."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from mqframe_dashboard.asking import Asking, NoAnswer, NotFound, called
from mqframe_testing import AsyncCluster

from mqframe import AsyncAdmin, AsyncPuller
from mqframe.core.errors import AnswerError, ConnectError, FixError
from mqframe.core.messages.ids import offset_id


def asking(**options: Any) -> Asking:
    nothing: Any = None
    return Asking(nothing, nothing, now=lambda: 7.0, **options)


def offset_id_of(host: str, port: int | str, at: int) -> str:
    return offset_id(socket.inet_aton(host) + int(port).to_bytes(4, "big"), at)


async def test_no_call_takes_longer_than_it_may():
    async def forever() -> None:
        await asyncio.Event().wait()

    asked = asking(seconds=0.01)
    with pytest.raises(NoAnswer, match=r"no answer to forever within 0.01 s"):
        await asked.ask(forever)
    assert asked.last_heard is None


def test_what_is_asked_is_called_by_its_subject():
    admin = AsyncAdmin(nameserver="127.0.0.1:1")
    puller = AsyncPuller(nameserver="127.0.0.1:1")
    asked = (admin.cluster.info, admin.dead_letters.list, admin.brokers.config_origins, puller.max_offset)
    assert list(map(called, asked)) == [
        "cluster info",
        "dead letter list",
        "broker config origins",
        "max offset",
    ]


async def test_a_refusal_is_an_answer():
    async def refuses() -> None:
        raise AnswerError(16, "no", "127.0.0.1:1")

    asked = asking()
    with pytest.raises(AnswerError):
        await asked.ask(refuses)
    assert asked.last_heard == 7.0


async def test_few_calls_run_at_once_and_answers_are_noted():
    running = most = 0

    async def call(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        if number == 3:
            raise ConnectError("gone")
        return number * 2

    asked = asking(at_once=2)
    found = await asked.ask_each(call, range(6))
    assert [found[number] for number in (0, 1, 2, 4, 5)] == [0, 2, 4, 8, 10]
    assert isinstance(found[3], ConnectError)
    assert asked.last_heard == 7.0
    assert most == 2


async def test_messages_are_found_by_either_id_and_strangers_are_not_asked():
    connected = []

    async def stranger(reader: Any, writer: asyncio.StreamWriter) -> None:
        connected.append(1)
        writer.close()

    async with (
        AsyncCluster() as cluster,
        AsyncAdmin(nameserver=cluster.nameserver) as admin,
        AsyncPuller(nameserver=cluster.nameserver) as puller,
        await asyncio.start_server(stranger, "127.0.0.1", 0) as server,
    ):
        await admin.topics.create("orders", queues=1)
        asked = Asking(admin, puller)
        host, port = server.sockets[0].getsockname()
        assert await asked.message("orders", offset_id_of(host, port, 0)) is None
        broker = next(iter((await admin.cluster.masters()).values()))
        assert await asked.message("orders", offset_id_of(*broker.split(":"), 99)) is None
        assert await asked.message("orders", "\x00'\"<odd>") is None
        with pytest.raises(NotFound, match=r"no topic order; did you mean orders\?"):
            await asked.check_topic("order")
    assert connected == []
    assert issubclass(NotFound, FixError)
