"""What a slave keeps of a broker service, which runs at its master alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mqframe.core.requests.fields import Request
from mqframe.hooks.interfaces.broker_port import BrokerPort
from mqframe.hooks.interfaces.broker_service import SavedTable


class CopiedTable(NamedTuple):
    """A table that a slave asks its master for, and saves as its own.

    `take`: is handed what the master has, a body of the saved table's class; `absent`: what masters answer
    that have no such table, besides that they do not know the request.
    """

    request: Request
    saved: SavedTable
    take: Callable[[Any], object]
    absent: Collection[int] = ()


class CopiedFile(NamedTuple):
    """A file that follows the master's, asked for every few seconds; it counts once the log has come as far.

    `name`: what it is, for people; `content`: what is kept of the answer's body, raises `BadAnswer`; `save`:
    brings that to disk below the store's folder, in a thread, raises OSError; `absent`: as of a table.
    """

    name: str
    request: Request
    content: Callable[[bytes], bytes]
    save: Callable[[Path, bytes], object]
    absent: Collection[int] = ()


class SlaveCopies:
    """Implement what is needed. A service's factory names its class in the attribute `SlaveCopies`.

    Slaves make one of each service that every broker runs, whether or not their settings leave it out: they
    may be masters with it one day.
    """

    def __init__(self, port: BrokerPort) -> None:
        """`port`: that of the slave; it stores nothing."""

    def tables(self) -> Sequence[CopiedTable]:
        """The tables to copy. Asked once, before the slave's tables are loaded."""
        return ()

    def files(self) -> Sequence[CopiedFile]:
        """The files to copy. Asked once."""
        return ()
