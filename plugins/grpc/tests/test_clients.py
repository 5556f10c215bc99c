from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

from mqframe.core.errors import ConnectionLost, TooMuchInFlight


class FakeCall:
    """A call, or a stream, that keeps what is sent."""

    def __init__(self, name: str = "a@1", language: str = "JAVA") -> None:
        self.metadata = {"x-mq-client-id": name, "x-mq-language": language, "x-mq-client-version": "5.1.2"}
        self.address, self.certificate = "10.0.0.7:4000", "shop"
        self.ended = self.is_full = False
        self.sent: list[Any] = []

    def send_now(self, command: Any) -> None:
        self.sent.append(command)


def client_of(clients: DoorClients, call: Any) -> DoorClient:
    return clients.of(call)


@pytest.mark.parametrize(
    ("language", "known"), [("JAVA", "JAVA"), ("GOLANG", "GO"), ("DOT_NET", "DOTNET"), ("KLINGON", "OTHER")]
)
def test_a_client_is_one_over_all_its_calls(language: str, known: str) -> None:
    clients = DoorClients()
    client = client_of(clients, FakeCall(language=language))
    assert client_of(clients, FakeCall(language=language)) is client
    other = client_of(clients, FakeCall("b@1"))
    assert other is not client
    assert (client.address, client.certificate, client.language) == ("10.0.0.7:4000", "shop", known)
    assert (client.version_text, len(clients)) == ("5.1.2", 2)


@pytest.mark.parametrize("name", ["", " ", "x" * 256, "a\nb"])
def test_names_that_nobody_has(name: str) -> None:
    with pytest.raises(Rejected) as raised:
        client_of(DoorClients(), FakeCall(name))
    assert raised.value.code is m.Code.CLIENT_ID_REQUIRED


def test_commands_go_to_the_stream_that_there_is() -> None:
    client = client_of(DoorClients(), FakeCall())
    command = m.TelemetryCommand()
    with pytest.raises(ConnectionLost):
        client.command(command)
    stream: Any = FakeCall()
    client.streams = [stream]
    client.command(command)
    assert stream.sent == [command]
    stream.is_full = True
    with pytest.raises(TooMuchInFlight):
        client.command(command)
    stream.ended = True
    with pytest.raises(ConnectionLost):
        client.command(command)


def test_an_id_is_one_client_for_each_user_and_place() -> None:
    clients = DoorClients()
    calls = [FakeCall() for _ in range(4)]
    calls[1].address, calls[2].certificate = "10.0.0.8:4000", "other"
    nobody = [client_of(clients, call) for call in calls]
    assert all(each is nobody[0] for each in nobody)
    del nobody
    users = dict(zip(map(id, calls), ("shop", "shop", "shop", "other"), strict=True))
    clients.gate.user_of = lambda call, **more: users[id(call)]  # type: ignore[method-assign]
    found = [client_of(clients, call) for call in calls]
    assert len(set(map(id, found))) == len(clients) == 4
    assert [each.user for each in found] == ["shop", "shop", "shop", "other"]
    assert [each.name for each in found] == ["shop\na@1"] * 3 + ["other\na@1"]
    assert clients.known({"x-mq-client-id": "a@1"}, "other") is found[3]
    calls[0].address = "10.0.0.7:4001"  # another connection
    assert client_of(clients, calls[0]) is found[0]


def test_a_client_has_left_when_it_has_left_from_everywhere() -> None:
    clients = DoorClients()
    clients.gate.user_of = lambda call, **more: "shop"  # type: ignore[method-assign]
    left: list[str] = []
    clients.left = lambda client: left.append(client.name)
    here, there = FakeCall(), FakeCall()
    there.address = "10.0.0.8:4000"
    first, second = client_of(clients, here), client_of(clients, there)
    first.peer = second.peer = object()
    first.closed("silent")
    assert left == []
    second.closed("silent")
    assert left == ["shop\na@1"]


def test_the_door_is_one_client_that_asks_for_nobody_else() -> None:
    clients = DoorClients()
    own = clients.own()
    assert clients.own() is own
    assert (own.inner, own.user, len(clients)) == (True, "", 0)
    client = client_of(clients, FakeCall(own.client_id))
    assert (client.inner, client is own) == (False, False)


async def test_answers_find_who_asked() -> None:
    client = client_of(DoorClients(), FakeCall())
    stream: Any = FakeCall()
    client.streams = [stream]

    def make(nonce: str) -> m.TelemetryCommand:
        return m.TelemetryCommand(
            print_thread_stack_trace_command=m.PrintThreadStackTraceCommand(nonce=nonce)
        )

    asked = [asyncio.ensure_future(client.ask(make)) for _ in range(2)]
    await asyncio.sleep(0)
    for command in reversed(stream.sent):
        nonce = command.print_thread_stack_trace_command.nonce
        answer = m.ThreadStackTrace(nonce=nonce, thread_stack_trace=f"of {nonce}")
        client.answered(nonce, m.TelemetryCommand(thread_stack_trace=answer))
    texts = [each.thread_stack_trace.thread_stack_trace for each in await asyncio.gather(*asked)]
    nonces = [each.print_thread_stack_trace_command.nonce for each in stream.sent]
    assert texts == [f"of {nonce}" for nonce in nonces]


async def test_only_so_much_is_asked_at_a_time() -> None:
    client = client_of(DoorClients(), FakeCall())
    client.streams = [FakeCall()]  # type: ignore[list-item]
    waiting = [asyncio.ensure_future(client.ask(lambda nonce: m.TelemetryCommand())) for _ in range(64)]
    await asyncio.sleep(0)
    with pytest.raises(TooMuchInFlight):
        await client.ask(lambda nonce: m.TelemetryCommand())
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def test_a_client_is_forgotten_when_nothing_is_left_of_it() -> None:
    clients = DoorClients()
    left = []
    clients.left = lambda client: left.append(client.name)
    client = client_of(clients, FakeCall())
    client.closed("silent")
    assert (left, len(clients)) == (["a@1"], 1)
    assert clients.known({"x-mq-client-id": "a@1"}) is client
    del client
    assert clients.known({"x-mq-client-id": "a@1"}) is None
    assert (len(clients), len(clients._names)) == (0, 0)
