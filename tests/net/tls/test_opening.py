"""Secured connections that are opened for any protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import certificates
import pytest
from certificates import Pems

from mqframe.core.errors import ConnectError, MqframeError, TlsError
from mqframe.net.tls.contexts import client_context, server_context
from mqframe.net.tls.opening import open_secured


class Talk(asyncio.Protocol):
    """Hears until the end."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.heard = b""
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(None)


class HandsOn(Talk):
    """Hands the connection on with the first bytes."""

    def __init__(self, after: Talk) -> None:
        super().__init__()
        self.after = after

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.transport.set_protocol(self.after)
        self.after.connection_made(self.transport)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
    writer.close()


async def opened(pems: Pems, inner: Talk, server: Pems | None) -> None:
    """Connect `inner`, which trusts `pems`, to an echo at which `server` is shown; `None`: without TLS."""
    context = None if server is None else server_context(server.server())
    mine = client_context(pems.client())
    assert mine is not None
    async with await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context) as listener:
        port = listener.sockets[0].getsockname()[1]
        await open_secured(mine, f"there:{port}", ("127.0.0.1", port), inner)
        inner.transport.write(b"one")
        while not inner.heard:
            await asyncio.sleep(0)
        inner.transport.write(b"two")
        inner.transport.close()
        await getattr(inner, "after", inner).ended


async def test_a_protocol_talks_as_over_a_plain_connection(pems: Pems) -> None:
    talk = Talk()
    await opened(pems, talk, pems)
    assert talk.heard.startswith(b"one")


async def test_another_protocol_may_go_on_with_a_secured_connection(pems: Pems) -> None:
    after = Talk()
    first = HandsOn(after)
    await opened(pems, first, pems)
    assert first.heard == b"one"
    assert after.transport is first.transport
    assert not first.ended.done()


async def test_a_server_that_is_not_trusted_or_plain_is_an_error_and_nothing_is_heard(
    pems: Pems, others: Pems
) -> None:
    async def failure(server: Pems | None) -> MqframeError:
        talk = Talk()
        with pytest.raises(MqframeError, match="no connection to there:") as caught:
            await opened(pems, talk, server)
        assert talk.transport is None
        return caught.value

    assert isinstance(await failure(others), TlsError)
    assert isinstance(await failure(None), TlsError | ConnectError)


async def test_nobody_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    mine = client_context(certificates.make(tmp_path).client())
    assert mine is not None

    with pytest.raises(ConnectionRefusedError):
        await open_secured(mine, "there", ("127.0.0.1", 1), Talk())
