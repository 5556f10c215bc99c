"""One connection of a stranger: bytes out, answers in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from mqframe_testing.simulation import SimulatedLoop

from mqframe.core.errors import FrameError
from mqframe.core.wire.frame import Frame, FrameDecoder


class Line(asyncio.Protocol):
    """A connection to the server on `port`, which takes what is sent as it is."""

    def __init__(self, loop: SimulatedLoop, port: int) -> None:
        self.closed = False
        self._decoder = FrameDecoder(1 << 30)
        self._transport, _ = loop.network.connect(lambda: self, port)

    def send(self, data: bytes) -> None:
        self._transport.write(data)

    def deaf(self, yes: bool) -> None:
        """Whether answers are left lying."""
        if yes:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        self.closed = True
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._decoder.receive(data)

    def connection_lost(self, problem: Exception | None) -> None:
        self.closed = True

    def pause_writing(self) -> None:
        """The server does not read; what is sent waits."""

    def resume_writing(self) -> None:
        """The server reads again."""

    def answers(self) -> Iterator[Frame]:
        """What has come since the last look. What a server writes has to be frames."""
        try:
            while (frame := self._decoder.next_frame()) is not None:
                yield frame
        except FrameError as problem:
            raise AssertionError(f"the server wrote what is no frame: {problem}") from problem
