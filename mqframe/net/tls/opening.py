"""A secured connection that this side opens, on asyncio."""

from __future__ import annotations

import asyncio
import ssl

from mqframe.net.tls.contexts import handshake_error, open_pipe
from mqframe.net.tls.protocol import TlsProtocol


async def open_secured(
    context: ssl.SSLContext, address: str, place: tuple[str, int], inner: asyncio.Protocol
) -> None:
    """Connect `inner` to `place`, host and port; `address`: how errors name it.

    Raises `TlsError`, `ConnectError`, and `OSError`; `inner` has heard of nothing then.
    """
    pipe = open_pipe(context, address, place[0])
    loop = asyncio.get_running_loop()
    shaken: asyncio.Future[Exception | None] = loop.create_future()

    def done(problem: Exception | None) -> None:
        if not shaken.done():
            shaken.set_result(problem)

    _, protocol = await loop.create_connection(lambda: TlsProtocol(pipe, inner, done), *place)
    try:
        problem = await shaken
    except asyncio.CancelledError:
        protocol.abort()
        raise
    if problem is not None:
        raise handshake_error(address, problem) from problem
