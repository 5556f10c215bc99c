"""Ports that are opened, or not."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from mqframe.net.listening import listen, port_of


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


async def test_a_start_that_is_interrupted_leaves_no_port_open() -> None:
    outcomes = []
    for turns in range(6):
        listener = await listen(asyncio.Protocol, "127.0.0.1", 0)
        port = port_of(listener)
        listener.close()
        starting = asyncio.ensure_future(listen(asyncio.Protocol, "127.0.0.1", port))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            (await starting).close()
            outcomes.append("opened")
            continue
        outcomes.append("interrupted")
        assert is_free(port), f"interrupted after {turns} turns"
    assert set(outcomes) == {"opened", "interrupted"}


async def test_an_address_that_is_in_use_is_an_error() -> None:
    listener = await listen(asyncio.Protocol, "[::1]", 0)
    with pytest.raises(OSError, match="address already in use"):
        await listen(asyncio.Protocol, "::1", port_of(listener))
    listener.close()
