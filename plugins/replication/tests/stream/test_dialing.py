"""Connections to replication ports: by TLS, and with a hello."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import certificates
import msgspec
import pytest
from certificates import Pems
from master_port import HELLO, Place
from mqframe_replication.rules.hello import HelloReader, Welcome, encode_welcome, signable
from mqframe_replication.rules.stream import encode_report, frame_head
from mqframe_replication.stream.dialing import Dialer
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import ConnectError, FrameError, MqframeError, TlsError
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import client_context
from mqframe.net.tls.following import FollowingContext


class Talk(asyncio.Protocol):
    """What goes on with the connection."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard += data


class Slave:
    """Somebody who opens connections, by TLS where `net` says so."""

    def __init__(self, net: NetSettings | None = None, *, greets: bool = True) -> None:
        self.clock = ManualClock()
        contexts = None if net is None else FollowingContext(client_context, net, self.clock)
        self.dialer = Dialer(self.clock, contexts, (lambda: HELLO) if greets else None)
        self.talk = Talk()

    async def failure(self, address: str) -> MqframeError:
        with pytest.raises(MqframeError) as caught:
            await self.dialer.open(self.talk, address)
        assert address in str(caught.value)
        assert self.talk.transport is None
        return caught.value


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def master(answer: Answer) -> AsyncIterator[str]:
    """The address of a master that does what `answer` says to one connection; it is left in the end."""
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer(reader, writer)
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        left.set_result(None)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await left


async def failure(slave: Slave, answer: Answer) -> MqframeError:
    """What is raised upon such a master."""
    async with master(answer) as address:
        return await slave.failure(address)


def saying(*answers: bytes) -> Answer:
    """One of `answers` upon each hello."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for each in answers:
            hellos = HelloReader()
            while hellos.read(await reader.read(1)) is None:
                pass
            writer.write(each)

    return answer


async def test_a_slave_that_says_nothing_is_connected_at_once() -> None:
    async with Place() as place:
        slave = Slave(greets=False)
        assert await slave.dialer.open(slave.talk, f"127.0.0.1:{place.feeding.port}") is None
        slave.talk.transport.write(encode_report(1249))
        await place.clock.aadvance(0)
        assert slave.talk.heard == frame_head(1249, 1) + b"\xf9"
        slave.talk.transport.abort()


async def test_a_hello_goes_first_and_the_welcome_is_handed_back() -> None:
    async with Place("always") as place:
        slave = Slave()
        address = f"127.0.0.1:{place.feeding.port}"
        assert await slave.dialer.open(slave.talk, address) == Welcome(start=1000, end=1250)
        slave.talk.transport.write(encode_report(1249))
        await place.clock.aadvance(0)
        assert slave.talk.heard == frame_head(1249, 1) + b"\xf9"
        slave.talk.transport.abort()


async def test_a_connection_that_fetches_says_so() -> None:
    async with Place() as place:
        slave, other = Slave(), Slave()
        address = f"127.0.0.1:{place.feeding.port}"
        await slave.dialer.open(slave.talk, address)
        await other.dialer.open(other.talk, address, fetches=True)
        for each in (slave, other):
            each.talk.transport.write(encode_report(1250))
        await place.clock.aadvance(0)
        assert place.followed == [(1250, 1250)]
        for each in (slave, other):
            each.talk.transport.abort()


async def test_a_refusal_is_raised_as_the_master_says_it() -> None:
    refusal = encode_welcome(Welcome(refusal="go away\x1b[2J" + "!" * 2000))
    problem = await failure(Slave(), saying(refusal))
    assert isinstance(problem, ConnectError)
    assert r"this slave is refused: go away\x1b[2J!!!" in str(problem)
    assert len(str(problem)) < 1200


class Signing(RpcHook):
    def before(self, address: str, request: Frame) -> None:
        request.ext = {"signed": bytes(request.body).hex()}


async def test_a_hello_is_signed_when_the_master_asks_for_it() -> None:
    slave, came = Slave(), []
    slave.dialer.signer = Signing()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for welcome in (Welcome(challenge="abc"), Welcome(end=7)):
            hellos = HelloReader()
            while (hello := hellos.read(await reader.read(1))) is None:
                pass
            came.append(hello)
            writer.write(encode_welcome(welcome))

    async with master(answer) as address:
        assert await slave.dialer.open(slave.talk, address) == Welcome(end=7)
        slave.talk.transport.abort()
    access = {"signed": signable(HELLO, "abc").hex()}
    assert came == [HELLO, msgspec.structs.replace(HELLO, access=access)]


ASKED = encode_welcome(Welcome(challenge="abc"))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([b"HTTP/1.1 400"], "no replication port of mqframe"),
        ([ASKED, ASKED], "asks for a signature again"),
        ([encode_welcome(Welcome()) + frame_head(0, 0)], "says more before it was told where this log ends"),
        ([ASKED + ASKED], "says more before"),
    ],
)
async def test_what_is_no_welcome_ends_the_connection(answers: list[bytes], said: str) -> None:
    slave = Slave()
    slave.dialer.signer = Signing()
    problem = await failure(slave, saying(*answers))
    assert isinstance(problem, FrameError)
    assert said in str(problem)


async def test_a_master_that_leaves_upon_the_hello_is_named() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.close()

    problem = await failure(Slave(), answer)
    assert "it ended the connection upon the hello: closed by the other side" in str(problem)


async def test_a_master_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    slave = Slave()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        await slave.clock.aadvance(5.1)

    problem = await failure(slave, answer)
    assert "does not answer the hello within 5 s" in str(problem)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:"])
@pytest.mark.parametrize("greets", [True, False])
async def test_an_address_that_does_not_answer_is_named(address: str, greets: bool) -> None:
    problem = await Slave(greets=greets).failure(address)
    assert isinstance(problem, ConnectError)


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


@pytest.mark.parametrize("greets", [True, False])
async def test_connections_are_secured_where_that_is_set(pems: Pems, greets: bool) -> None:
    async with Place(net=pems.server(tls_server_mode="enforcing")) as place:
        slave = Slave(pems.client(), greets=greets)
        await slave.dialer.open(slave.talk, f"127.0.0.1:{place.feeding.port}")
        slave.talk.transport.write(encode_report(1249))
        await place.clock.aadvance(0)
        assert slave.talk.heard == frame_head(1249, 1) + b"\xf9"
        slave.talk.transport.abort()


async def test_a_certificate_of_somebody_else_is_refused_as_elsewhere(pems: Pems, tmp_path: Path) -> None:
    others = certificates.make(tmp_path)

    async with Place(net=pems.server()) as place:
        problem = await Slave(others.client()).failure(f"127.0.0.1:{place.feeding.port}")
        assert isinstance(problem, TlsError)
        assert "set tls_ca_file to the authority that signed it" in str(problem)


async def test_a_client_certificate_is_shown_where_the_master_asks(pems: Pems) -> None:
    settings = pems.server(tls_server_client_auth="require", tls_server_ca_file=pems.ca)

    async with Place(net=settings) as place:
        address = f"127.0.0.1:{place.feeding.port}"
        slave = Slave(pems.client(tls_cert_file=pems.cert, tls_key_file=pems.key))
        assert await slave.dialer.open(slave.talk, address) == Welcome(start=1000, end=1250)
        slave.talk.transport.abort()
        problem = await Slave(pems.client()).failure(address)
        assert "the server wants a certificate: set tls_cert_file" in str(problem)


async def test_a_master_without_tls_is_named(pems: Pems) -> None:
    async with Place() as place:
        problem = await Slave(pems.client()).failure(f"127.0.0.1:{place.feeding.port}")
        assert "if it takes plain connections only" in str(problem)


async def test_a_welcome_that_comes_when_nobody_waits_any_more_ends_the_connection() -> None:
    class Line(asyncio.Transport):
        is_open = True

        def write(self, data: bytes | bytearray | memoryview) -> None:
            assert self.is_open

        def abort(self) -> None:
            self.is_open = False

    slave, line, made = Slave(), Line(), []

    async def connect(make: Callable[[], asyncio.Protocol], *place: Any) -> None:
        made.append(make())
        made[0].connection_made(line)

    asyncio.get_running_loop().create_connection = connect  # type: ignore[method-assign, assignment]
    opening = asyncio.ensure_future(slave.dialer.open(slave.talk, "127.0.0.1:1"))
    await slave.clock.aadvance(0)
    opening.cancel()
    made[0].data_received(encode_welcome(Welcome()))  # before the turn of who was cancelled
    with suppress(asyncio.CancelledError):
        await opening
    assert (line.is_open, slave.talk.transport) == (False, None)
