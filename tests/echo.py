"""What the tests of simulations talk to, and a loop to do it in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from mqframe_testing.simulation import SimulatedLoop

PORT = 99


class Echo(asyncio.Protocol):
    """Says back what it hears, in capitals, and notes what happens to it."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.events: list[str] = []
        self.transport: Any = None

    @property
    def text(self) -> bytes:
        return b"".join(self.heard)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard.append(data)
        if data.islower():
            self.transport.write(data.upper())

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def connection_lost(self, problem: Exception | None) -> None:
        self.events.append("lost")


def run(
    scenario: Callable[[SimulatedLoop], Coroutine[Any, Any, None]],
    chance: Random | None = None,
    stall_seconds: float = float("inf"),
) -> SimulatedLoop:
    """Run `scenario` in a loop whose time it moves itself."""
    loop = SimulatedLoop(chance, stall_seconds)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(scenario(loop))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return loop
