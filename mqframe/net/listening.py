"""Opening and closing a port so that nothing stays open, no connection either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

_BACKLOG: Final = 1024
"""Connections that may wait to be taken: many clients come back together when a server does."""

_TURNS: Final = 3
"""Turns of the loop from a connection that is accepted to one that its protocol knows, and one more."""


async def listen(arrive: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> asyncio.Server:
    """Serve connections to `host` (name, IPv4 or IPv6) and `port` (0: any free one) by what `arrive` makes.

    As `create_server` of the running loop, which leaves its port open, without anybody to close it, when it
    is cancelled at its end. Raises `OSError` when the address cannot be used.
    """
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(arrive, host.strip("[]"), port, backlog=_BACKLOG, start_serving=False)
    try:
        await listener.start_serving()
    except BaseException:
        listener.close()
        raise
    return listener


async def close(listeners: Iterable[asyncio.Server]) -> None:
    """Accept nothing more, and close the ports once all that was accepted is known to its protocol.

    asyncio cannot make a connection whose port was closed since it was accepted, and leaves it open.
    """
    loop = asyncio.get_running_loop()
    for listener in listeners:
        for each in listener.sockets:
            loop.remove_reader(each)
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    for listener in listeners:
        listener.close()


def port_of(listener: asyncio.Server) -> int:
    """The port of `listener`, which listens at one address."""
    return int(listener.sockets[0].getsockname()[1])
