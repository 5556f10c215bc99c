"""The connection of Spark's JVM and a Python worker: by TCP, neither waits for an acknowledgement.

Spark sets nothing on it. The JVM writes a task in two small pieces, what to do and what to do it with; its
kernel holds the second back until the first is acknowledged, and ours puts that off for some 40 ms, as there
is nothing to be sent back with it yet. The same goes for the end of what a task sends. The setting
`spark.python.unix.domain.socket.enabled` avoids TCP, but few sessions have it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
from typing import Any, Final

from pyspark import TaskContext

_DESCRIPTORS: Final = "/dev/fd"
_NO_TCP: Final = "PYTHON_UNIX_DOMAIN_ENABLED"
_QUICK: Final = getattr(socket, "TCP_QUICKACK", None)
"""Linux alone has it, and forgets it as soon as something is sent: it is for the moment."""


class InTasks:
    """What Spark sends to a task to be called there: when it has been read, the rest may come at once."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        hurry()


def hurry() -> None:
    """In a task, acknowledge what came from the JVM, and have nothing wait that goes there.

    Elsewhere, and where sockets are Unix domain ones, nothing happens.
    """
    if TaskContext.get() is None or os.environ.get(_NO_TCP, "").lower() == "true":
        return
    with contextlib.suppress(OSError):  # a system without such a folder
        for name in os.listdir(_DESCRIPTORS):
            # Not a socket, not TCP, not connected, or closed by another thread meanwhile.
            with contextlib.suppress(OSError, ValueError):
                _hurry(int(name))


def _hurry(descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    try:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and _is_near(connection):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if _QUICK is not None:
                connection.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
    finally:
        connection.detach()  # it is somebody else's


def _is_near(connection: socket.socket) -> bool:
    return ipaddress.ip_address(connection.getpeername()[0]).is_loopback
