from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import certificates
import grpc
import pytest
from grpc_wire import HIGH_BYTES, Wire, message
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from mqframe_grpc.certificates import http2_context
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.frames import PREFACE, SETTINGS, frame_head
from mqframe_grpc.transport.server import GrpcServer

from mqframe.net.tls.following import FollowingContext

HELLO = PREFACE + frame_head(0, SETTINGS, 0, 0)


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> certificates.Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


@asynccontextmanager
async def listening(
    wire: Wire, pems: certificates.Pems | None = None, *, plain: bool = True
) -> AsyncIterator[int]:
    """The port of a real server, which serves what `wire` does. Its time is that of `wire`."""
    context = None
    if pems is not None:
        context = FollowingContext(http2_context, pems.server(tls_server_mode="permissive"), wire.clock)
    wire.server = GrpcServer(wire.server.methods, wire.clock, wire.limits, context, plain=plain)
    port = await wire.server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await wire.server.stop()


async def ended(reader: asyncio.StreamReader) -> None:
    """Returns once the other side has closed, or reset, the connection."""
    with suppress(ConnectionError):
        await reader.read()


def resource(name: str) -> bytes:
    return m.Resource(name=name).SerializeToString()


def talk(channel: grpc.Channel) -> None:
    """What a real client makes of it."""
    one = channel.unary_unary("/t/Echo")
    assert one(resource("x"), timeout=10, metadata=[("x-mq-client-id", "c@1")]) == resource("x")
    assert one(resource("z" * 4_000_000), timeout=30) == resource("z" * 4_000_000)
    assert one(resource("p" * 5000), timeout=10, compression=grpc.Compression.Gzip) == resource("p" * 5000)
    waiting = [one.future(resource(str(n)), timeout=30) for n in range(300)]
    assert [each.result() for each in waiting] == [resource(str(n)) for n in range(300)]
    many = channel.unary_stream("/t/Many")(resource("40:100000"), timeout=30)
    assert [len(each) for each in many] == [len(resource("x" * 100_000))] * 40
    both = channel.stream_stream("/t/Both")(iter([resource("a"), resource("b")]), timeout=10)
    assert list(both) == [resource("a"), resource("b")]
    for rpc, code in (("Nothing", "UNIMPLEMENTED"), ("Fails", "INTERNAL"), ("Refuses", "INVALID_ARGUMENT")):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(f"/t/{rpc}")(resource(""), timeout=10)
        assert caught.value.code().name == code
    assert caught.value.details() == "says no: 50 %, ü"
    with pytest.raises(grpc.RpcError) as caught:
        one(resource("z" * 6_000_000), timeout=30)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    held = channel.unary_unary("/t/Held").future(resource("never"), timeout=30)
    held.cancel()
    assert one(resource("after"), timeout=10) == resource("after")


OPTIONS = [("grpc.max_receive_message_length", -1)]


async def test_a_real_client_is_served() -> None:
    wire = Wire()
    async with listening(wire) as port:
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as channel:
            await asyncio.to_thread(talk, channel)
    assert wire.at_rest()


async def test_a_real_client_is_served_over_tls_at_the_port_of_plain_ones(pems: certificates.Pems) -> None:
    wire = Wire()
    trust = grpc.ssl_channel_credentials(Path(pems.ca).read_bytes())
    async with listening(wire, pems) as port:
        with grpc.secure_channel(f"127.0.0.1:{port}", trust, options=OPTIONS) as channel:
            await asyncio.to_thread(talk, channel)
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            echo = channel.unary_unary("/t/Echo")
            assert await asyncio.to_thread(echo, resource("plain"), timeout=10) == resource("plain")
    assert wire.at_rest()


async def test_tls_agrees_on_http2(pems: certificates.Pems) -> None:
    async with listening(Wire(), pems) as port:
        context = ssl.create_default_context(cafile=pems.ca)
        context.set_alpn_protocols(["http/1.1", "h2"])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        writer.write(HELLO)
        assert (await reader.readexactly(9))[3] == SETTINGS
        writer.close()
        await writer.wait_closed()


async def test_plain_ones_may_be_unwelcome(pems: certificates.Pems) -> None:
    wire = Wire()
    async with listening(wire, pems, plain=False) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HELLO)
        assert await reader.read() == b""
        writer.close()
        assert wire.server.connections == set()


@pytest.mark.parametrize("secured", [True, False])
async def test_one_that_never_begins_is_closed(secured: bool, pems: certificates.Pems) -> None:
    wire = Wire(idle_seconds=16.0)
    async with listening(wire, pems if secured else None) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ended = asyncio.ensure_future(reader.read())
        await wire.clock.aadvance(12.0)
        assert not ended.done()
        await wire.clock.finish(ended)
        writer.close()


async def test_those_on_their_way_in_are_counted(pems: certificates.Pems) -> None:
    wire = Wire(connections_max=2)
    async with listening(wire, pems) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ended(reader)
        for _, each in [*silent, (reader, writer)]:
            each.close()


async def test_a_client_that_closes_its_side_is_gone() -> None:
    wire = Wire()
    async with listening(wire) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HELLO)
        await reader.readexactly(9)
        writer.write_eof()
        while await reader.read(1000):
            pass
        writer.close()
    assert wire.server.connections == set()


async def test_stopping_tells_those_that_are_connected() -> None:
    wire = Wire()
    async with listening(wire) as port:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            held = channel.unary_unary("/t/Held").future(resource("x"))
            while not wire.begun:
                await asyncio.sleep(0)
            await wire.server.stop()
            with pytest.raises(grpc.RpcError) as caught:
                await asyncio.to_thread(held.result)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            assert caught.value.details() == "the connection is being closed"
    assert wire.cancelled == [b"x"]
    assert (wire.server.connections, wire.at_rest(), wire.clock.timers) == (set(), True, 0)


async def test_stopping_does_not_wait_for_those_that_read_nothing() -> None:
    wire = Wire()
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    client.increment_flow_control_window(1 << 30)
    head = {":method": "POST", ":scheme": "http", ":path": "/t/Many", ":authority": "here"}
    client.send_headers(1, [*head.items(), ("content-type", "application/grpc")])
    client.send_data(1, message(b"1:50000000"), end_stream=True)
    async with listening(wire) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.transport.pause_reading()
        writer.write(client.data_to_send())
        while not any(each._leaving.paused for each in wire.server.connections):
            await asyncio.sleep(0)
        await wire.server.stop()
        assert wire.server.connections == set()
        writer.transport.abort()
    assert wire.at_rest()


async def test_it_may_be_abandoned(pems: certificates.Pems) -> None:
    wire = Wire()
    async with listening(wire, pems) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        silent, other = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HELLO)
        await reader.readexactly(9)
        wire.server.abandon()
        for each in (reader, silent):
            await ended(each)
        for each in (writer, other):
            each.close()


async def test_what_was_not_started_may_be_stopped() -> None:
    server = Wire().server
    await server.stop()
    server.abandon()


# Budgets of all connections together.


async def test_those_that_hold_unfinished_requests_the_longest_are_closed() -> None:
    wire = Wire(partial_bytes_max=1_000_000)
    peers = [wire.connect() for _ in range(4)]
    small = wire.connect()
    small.data(small.headers("Echo"), b"\0\0")
    for peer in peers:
        number = peer.headers("Echo")
        peer.data(number, message(b"x" * 400_000)[:300_000])
        await wire.settle()
    assert [peer.closed for peer in peers] == [True, True, False, False]
    assert not small.closed
    assert wire.server.partial_bytes <= 1_000_000
    for peer in peers[2:]:
        peer.vanish()
    small.vanish()
    await wire.settle()
    assert wire.at_rest()


async def test_those_that_do_not_read_the_longest_are_closed() -> None:
    wire = Wire(unsent_bytes_max=1_000_000)
    peers = [wire.connect() for _ in range(5)]
    for peer in peers:
        peer.credits = False
        peer.call("Many", b"1:300000")
        await wire.settle()
    assert [peer.closed for peer in peers] == [True, True, False, False, False]
    assert wire.cancelled == [b"1:300000"] * 2
    assert wire.server.unsent_bytes <= 1_000_000
    for peer in peers[2:]:
        peer.vanish()
    await wire.settle()
    assert wire.at_rest()


async def test_what_was_read_meanwhile_does_not_count() -> None:
    wire = Wire(unsent_bytes_max=200_000)
    peers = [wire.connect({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30}) for _ in range(5)]
    for peer in peers:
        peer.http.increment_flow_control_window(1 << 30)
    await wire.settle()
    for peer in peers:
        peer.transport.stuck = True
        peer.call("Many", b"1:50000")
        await wire.settle()
        assert 50_000 < peer.transport.get_write_buffer_size() < HIGH_BYTES
        peer.transport.drain(100_000)  # unnoticed by all but the system
        peer.transport.stuck = False
    await wire.settle()
    assert not any(peer.closed for peer in peers)


async def test_one_that_was_shed_within_its_turn_is_gone() -> None:
    wire = Wire(partial_bytes_max=100_000)
    peer = wire.connect()
    numbers = [peer.headers("Both") for _ in range(10)]
    for number in numbers:
        peer.data(number, message(b"x" * 20_000)[:-1])
    await wire.settle()
    assert peer.closed
    assert wire.at_rest()
    other = wire.connect()
    number = other.call("Echo", b"x")
    await wire.settle()
    assert other.answers[number].messages == [b"x"]


async def test_a_connection_that_breaks_the_rules_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    for _ in range(3):
        peer = wire.connect()
        peer.send_raw(frame_head(0, 0, 0, 0))
        await wire.settle()
        assert peer.farewell == ErrorCodes.PROTOCOL_ERROR
    told = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 1
