"""Ports for servers that come back where they were."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Final

_PORTS: Final = range(12_000, 32_000)
_TRIES_MAX: Final = 10_000


def lasting_port(*beside: int) -> int:
    """A port of this machine that is free, as are those at the distances `beside` from it.

    It is this process's until that ends, whether a server has it or is down: neither another call gets it,
    nor another process of this user. It lies below the ports that the system hands out by itself, to
    connections and to servers that ask for any: one of those could be given away while the server that had it
    is down. Raises `RuntimeError` when there is none.
    """
    for _ in range(_TRIES_MAX):
        port = random.choice(_PORTS)
        ports = [port + distance for distance in (0, *beside)]
        if not _held().take(ports):
            continue
        if _can_be_bound(ports):
            return port
        _held().give_back(ports)
    raise RuntimeError(f"no free port in {_TRIES_MAX:,} tries within {_PORTS[0]} and {_PORTS[-1]}")


def _can_be_bound(ports: list[int]) -> bool:
    with contextlib.ExitStack() as sockets:
        try:
            for port in ports:
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError:
            return False
    return True


class _HeldPorts:
    """The ports of this process: for each a lock on the byte of its number, in a file that all look at.

    Locks of `fcntl` end with the process, however it ends, and children that it forks have none of them. They
    do not keep a process from itself, and would end if it closed the file: so it is opened once, and what was
    taken is remembered.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self, ports: list[int]) -> bool:
        """Take all of `ports`, or none where one is somebody's."""
        with self._lock:
            if not self._taken.isdisjoint(ports):
                return False
            for count, port in enumerate(ports):
                try:
                    fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
                except OSError:
                    self._unlock(ports[:count])
                    return False
            self._taken.update(ports)
            return True

    def give_back(self, ports: list[int]) -> None:
        """Others may have `ports`."""
        with self._lock:
            self._taken.difference_update(ports)
            self._unlock(ports)

    def _unlock(self, ports: list[int]) -> None:
        for port in ports:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, port)


@cache
def _held() -> _HeldPorts:
    return _HeldPorts(Path(tempfile.gettempdir()) / f"mqframe-ports-{os.getuid()}")
