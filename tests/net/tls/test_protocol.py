"""Secured connections of asyncio: damage, the end, slow readers, refusals."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct

import pytest
from certificates import Pems
from mqframe_testing.manual_clock import ManualClock
from peers import LIST, ROUTE, Raw
from tls_peers import Serve, Served, fault

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.serving import Call, Reply
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.net.peer_group import PeerEvents
from mqframe.net.server import Server
from mqframe.net.tls.contexts import client_context
from mqframe.net.tls.pipe import TlsPipe


async def test_damage_within_a_session_ends_it_and_names_tls(served: Serve, pems: Pems) -> None:
    """A relay between the two flips a bit of an answer."""

    async with served(pems.server()) as it:
        damage = False

        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: bool) -> None:
            while data := await reader.read(65536):
                if back and damage:
                    data = data[:-1] + bytes([data[-1] ^ 1])
                writer.write(data)
            writer.close()

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            above, below = await asyncio.open_connection("127.0.0.1", it.port)
            await asyncio.gather(copy(reader, below, False), copy(above, writer, True))

        listener = await asyncio.start_server(relay, "127.0.0.1", 0)
        address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        client = it.client(pems.client())
        assert (await client.invoke(address, ROUTE("t"), b"x")).code == 0
        damage = True
        problem = await fault(client, address)
        assert type(problem) is ConnectionLost
        assert "TLS failed: " in str(problem)
        damage = False
        assert (await client.invoke(address, ROUTE("t"), b"y")).body == b"y"
        listener.close()
        await listener.wait_closed()


async def test_the_end_of_a_secured_connection_is_told_as_that_of_a_plain_one(
    served: Serve, pems: Pems
) -> None:
    async with served(pems.server()) as it:
        client = it.client(pems.client())
        await client.invoke(it.address, ROUTE("t"))
        with pytest.raises(ConnectionLost, match=r"closed by the other side$"):
            await client.invoke(it.address, LIST("x"))
        assert (await client.invoke(it.address, ROUTE("t"))).code == 0


async def test_a_slow_reader_is_not_read_from_and_gets_everything(pems: Pems) -> None:
    """Answers pile up until the server stops reading; then the client reads them all."""

    async with Served(pems.server(unsent_bytes_max=64 * 1024), "asyncio") as it:
        context = client_context(pems.client())
        assert context is not None
        from mqframe.core.wire.frame import FrameDecoder, encode_frame

        reader, writer = await asyncio.open_connection("127.0.0.1", it.port, ssl=context)
        body = b"z" * 100_000
        for n in range(60):
            writer.write(encode_frame(Frame(ROUTE.CODE, n, ext={"topic": "t"}, body=body)))
        decoder, found = FrameDecoder(), []
        while len(found) < 60:
            decoder.receive(await reader.read(65536))
            while (frame := decoder.next_frame()) is not None:
                found.append((frame.opaque, len(frame.body)))
        assert found == [(n, 100_000) for n in range(60)]
        writer.close()
        await writer.wait_closed()


async def test_who_is_refused_reads_why_although_it_went_on_sending(pems: Pems, others: Pems) -> None:
    wanted = pems.server(tls_server_client_auth="require", tls_server_ca_file=others.ca)

    async with Served(wanted, "asyncio") as it:
        context = client_context(pems.client())
        assert context is not None
        pipe = TlsPipe(context, host="127.0.0.1")
        raw = await Raw.open(it.port)
        while not pipe.established:
            raw.send(pipe.outgoing())
            pipe.receive(await raw.reader.read(65536))
        raw.send(pipe.outgoing(), pipe.send(b"x" * 100_000))
        await raw.writer.drain()
        raw.send(pipe.send(b"x" * 100_000))
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            pipe.receive(await raw.reader.read())
        await raw.close()


async def test_what_was_unread_when_an_answer_broke_the_connection_is_served(pems: Pems) -> None:
    saved: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    events: list[int | str] = []

    def serve(call: Call) -> Reply:
        events.append(call.frame.opaque)
        return Reply()

    server = Server(
        {1: serve},
        ManualClock(),
        pems.server(),
        events=PeerEvents(lambda: None if saved.done() else saved, lambda peer: events.append("closed")),
    )
    port = await server.start("127.0.0.1", 0)
    context = client_context(pems.client())
    assert context is not None
    pipe = TlsPipe(context, host="127.0.0.1")
    leaving = socket.create_connection(("127.0.0.1", port))
    while not pipe.established:
        leaving.sendall(pipe.outgoing())
        pipe.receive(await asyncio.to_thread(leaving.recv, 65536))
    leaving.sendall(pipe.outgoing() + pipe.send(encode_frame(Frame(1, 0))))
    while not events:
        await asyncio.sleep(0)
    told = b"".join(encode_frame(Frame(1, number, FLAG_ONEWAY)) for number in range(1, 11))
    leaving.sendall(pipe.send(told))
    leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    leaving.close()
    saved.set_result(True)
    while "closed" not in events:
        await asyncio.sleep(0)
    assert events == [*range(11), "closed"]
    await server.stop()
