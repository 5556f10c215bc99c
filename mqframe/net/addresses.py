"""Addresses of sockets as text, and what is said when the other side closed."""

from __future__ import annotations

import socket
import struct
from asyncio.trsock import TransportSocket
from typing import Final

CLOSED: Final = "closed by the other side"
NOBODY_LISTENS: Final = "nobody listens there"
_RESET: Final = struct.pack("ii", 1, 0)


def address_text(address: tuple[str, int] | str | None) -> str:
    """An address of a socket as "host:port"."""
    if not isinstance(address, tuple):
        return str(address or "")
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def met_itself(link: socket.socket | TransportSocket | None) -> bool:
    """Whether the two ends of a connection are one and the same; nobody listens there, then.

    A system that picks a port for an outgoing connection may pick the very one that is called, while no
    server of the same machine has it: TCP then joins the socket to itself. What is sent comes back as if it
    were the answer, and the server that returns finds its port taken. So that it does not, closing `link`
    resets it and leaves nothing that waits.
    """
    if link is None or link.getsockname() != link.getpeername():
        return False
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    return True
