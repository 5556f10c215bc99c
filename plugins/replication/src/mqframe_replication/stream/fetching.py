"""One stretch of a master's log, over a connection of its own (replication.md §1.6)."""

from __future__ import annotations

import asyncio
from typing import cast

from mqframe.core.errors import CallTimeout, ConnectError, FrameError
from mqframe.net.clock import LoopClock, within
from mqframe_replication.rules.stream import FrameReader, encode_report
from mqframe_replication.stream.dialing import Dialer


async def fetch(
    clock: LoopClock,
    address: str,
    stretch: tuple[int, int],
    silent_seconds: float,
    dialer: Dialer | None = None,
) -> bytes:
    """What the master at the replication port `address`, "host:port", has from one log offset to another.

    A slave's first report says where the master is to begin, and may name any byte. `dialer`: what opens the
    connection; `None`: a plain one. Raises `ConnectError` when the master leaves, or sends nothing for
    `silent_seconds`; `FrameError` when it begins elsewhere; and as `Dialer`.
    """
    fetching = _Fetching(*stretch)
    try:
        await (dialer or Dialer(clock)).open(fetching, address, fetches=True)
        while not fetching.is_over:
            fetching.news.clear()
            await within(clock, silent_seconds, fetching.news.wait())
    except CallTimeout:
        raise ConnectError(
            f"{address} sends nothing of its log from offset {stretch[0]} on, which is needed here"
        ) from None
    finally:
        fetching.close()
    if fetching.problem is not None:
        raise fetching.problem
    return bytes(fetching.data)


class _Fetching(asyncio.Protocol):
    """`news`: set whenever something of the stretch came, or the end did."""

    def __init__(self, start: int, end: int) -> None:
        self._start, self._size = start, end - start
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self.data = bytearray()
        self.news = asyncio.Event()
        self.problem: ConnectError | FrameError | None = None

    @property
    def is_over(self) -> bool:
        return self.problem is not None or len(self.data) >= self._size

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(encode_report(self._start))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.read(data):
                if frame.offset != self._start + len(self.data):
                    raise FrameError(
                        f"the master begins at log offset {frame.offset} where {self._start + len(self.data)}"
                        " is needed to mend this log: start this broker with an empty store"
                    )
                self.data += frame.data
                if frame.data:
                    self.news.set()
                if len(self.data) >= self._size:
                    del self.data[self._size :]
                    self.close()
                    return
        except FrameError as problem:
            self._fail(problem)

    def connection_lost(self, problem: Exception | None) -> None:
        self._fail(ConnectError("the master left while a part of its log was fetched"))

    def _fail(self, problem: ConnectError | FrameError) -> None:
        if not self.is_over:
            self.problem = problem
        self.close()
        self.news.set()

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
