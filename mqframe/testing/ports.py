"""Ports for servers that come back where they were."""

from __future__ import annotations

import contextlib
import random
import socket
from typing import Final

_PORTS: Final = range(12_000, 32_000)


def lasting_port(*beside: int) -> int:
    """A port of this machine that is free, as are those at the distances `beside` from it.

    It lies below the ports that the system hands out by itself, to connections and to servers that ask for
    any: one of those could be given away while the server that had it is down.
    """
    while True:
        port = random.choice(_PORTS)
        with contextlib.ExitStack() as sockets, contextlib.suppress(OSError):
            for distance in (0, *beside):
                sockets.enter_context(socket.create_server(("127.0.0.1", port + distance)))
            return port
