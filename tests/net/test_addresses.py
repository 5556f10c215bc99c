"""Addresses of sockets as text."""

from __future__ import annotations

import asyncio
import socket
from functools import partial

import pytest
from mqframe_testing.ports import lasting_port
from peers import ROUTE

from mqframe.core.errors import ConnectError
from mqframe.net.addresses import address_text
from mqframe.net.blocking import BlockingClient
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("10.0.0.1", 80), "10.0.0.1:80"),
        (("::1", 10911, 0, 0), "[::1]:10911"),
        ("/run/socket", "/run/socket"),
        (None, ""),
    ],
)
def test_addresses_as_text(address, text) -> None:
    assert address_text(address) == text


def test_a_socket_that_met_itself_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may pick the called port for the caller; here it is told to."""
    own = ("127.0.0.1", lasting_port())
    create = socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda to, seconds: create(to, seconds, own))
    client = BlockingClient(SystemClock())
    with pytest.raises(ConnectError, match="nobody listens there"):
        client.invoke(address_text(own), ROUTE("t"))
    client.close()
    socket.create_server(own).close()  # the port is free for its server


async def test_nor_is_one_on_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("127.0.0.1", lasting_port())

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "create_connection", partial(loop.create_connection, local_addr=own))
    client = Client(SystemClock())
    with pytest.raises(ConnectError, match="nobody listens there"):
        await client.invoke(address_text(own), ROUTE("t"))
    await client.close()
    socket.create_server(own).close()
