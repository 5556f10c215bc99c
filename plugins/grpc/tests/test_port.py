from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from doors import DoorScene, producer_settings, receive_request
from mqframe_grpc.door import SERVICE
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.port import FINISHED_SECONDS, DoorPort
from mqframe_grpc.proto import messages as m

OPTIONS = GrpcOptions(port=0, tls="disabled")
TOPICS = {"orders": 1}


class PortScene(DoorScene):
    """A door that is reached by a port, and a channel of the official gRPC library to it.

    `answer`: to the call that was `held`.
    """

    answer: Any = None

    async def start(self) -> None:
        await super().start()
        self.port = DoorPort(self.door, self.clock, OPTIONS, Path("unused"))
        await self.port.start("127.0.0.1")
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{self.port.bound}")

    async def stop(self) -> None:
        await self.channel.close()
        await self.finish(self.port.stop())
        await super().stop()

    @property
    def calls(self) -> int:
        """How many the port serves."""
        assert self.port._server is not None
        return sum(each.calls for each in self.port._server.connections)

    def metadata(self, client: str, version: str) -> tuple[tuple[str, str], ...]:
        return (("x-mq-client-id", client), ("x-mq-client-version", version))

    async def telemetry(self, client: str, version: str) -> Any:
        """A Telemetry stream whose settings were answered."""
        path = f"{SERVICE}Telemetry"
        open_stream = self.channel.stream_stream(
            path,
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=m.TelemetryCommand.FromString,
        )
        stream = open_stream(metadata=self.metadata(client, version))
        await stream.write(m.TelemetryCommand(settings=producer_settings("orders")))
        assert (await stream.read()).WhichOneof("command") == "settings"
        return stream

    def receive(self) -> Any:
        """A receive that waits."""
        ask = self.channel.unary_stream(
            f"{SERVICE}ReceiveMessage",
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=m.ReceiveMessageResponse.FromString,
        )
        return ask(receive_request("orders", "billing", seconds=20), metadata=self.metadata("c@1", "5.1.2"))


async def answers(receiving: Any) -> list[Any]:
    return [each async for each in receiving]


async def test_clients_are_sent_elsewhere_and_what_waits_is_answered() -> None:
    async with PortScene(topics=TOPICS) as scene:
        knows, does_not = await scene.telemetry("a@1", "5.1.0"), await scene.telemetry("a@2", "5.0.7")
        waiting = asyncio.ensure_future(answers(scene.receive()))
        while not scene.door._receives.held._waiting:
            await asyncio.sleep(0)
        await scene.finish(scene.port.stop())
        found = await waiting
        assert [each.WhichOneof("content") for each in found] == ["status", "delivery_timestamp"]
        assert found[0].status.code == m.Code.MESSAGE_NOT_FOUND
        command = await knows.read()
        assert command.WhichOneof("command") == "reconnect_endpoints_command"
        assert await read(does_not) is None
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await answers(scene.receive())
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def read(stream: Any) -> Any:
    """What comes next; `None` at the end, however it came."""
    try:
        found = await stream.read()
    except grpc.aio.AioRpcError:
        return None
    return None if found is grpc.aio.EOF else found


@asynccontextmanager
async def held(scene: PortScene) -> AsyncIterator[asyncio.Future[Any]]:
    """A QueryRoute that is being served until its broker says where the topic is."""
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    backend = scene.door._routes._backend
    find = backend.topic

    async def topic(name: str) -> Any:
        await told
        return await find(name)

    backend.topic = topic  # type: ignore[method-assign]
    ask = scene.channel.unary_unary(
        f"{SERVICE}QueryRoute",
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=m.QueryRouteResponse.FromString,
    )
    request = m.QueryRouteRequest(topic=m.Resource(name="orders"))
    asked = asyncio.ensure_future(ask(request, metadata=scene.metadata("a@1", "5.1.0")))
    while not scene.door.in_work:
        await asyncio.sleep(0)
    yield told
    if not told.done():
        told.set_result(None)
    [scene.answer] = await asyncio.gather(asked, return_exceptions=True)


async def test_calls_that_are_being_served_are_answered() -> None:
    async with PortScene(topics=TOPICS) as scene:
        async with held(scene) as told:
            stopping = asyncio.ensure_future(scene.port.stop())
            await scene.pass_time(FINISHED_SECONDS - 1)
            assert not stopping.done()
            told.set_result(None)
            await scene.finish(stopping)
        assert scene.answer.status.code == m.Code.OK


async def test_but_not_for_long() -> None:
    async with PortScene(topics=TOPICS) as scene:
        async with held(scene):
            stopping = asyncio.ensure_future(scene.port.stop())
            await scene.pass_time(FINISHED_SECONDS + 0.1)
            await scene.until(stopping.done, seconds=1.0)
        assert scene.answer.code() is grpc.StatusCode.UNAVAILABLE


async def test_receives_that_come_meanwhile_are_answered_at_the_end() -> None:
    async with PortScene(topics=TOPICS) as scene, held(scene) as told:
        stopping = asyncio.ensure_future(scene.port.stop())
        await scene.pass_time(1.0)
        late = asyncio.ensure_future(answers(scene.receive()))
        while scene.calls < 2:
            await asyncio.sleep(0)
        await scene.pass_time(1.0)
        assert not late.done()
        told.set_result(None)
        await scene.finish(stopping)
        assert (await late)[0].status.code == m.Code.MESSAGE_NOT_FOUND
