"""Bytes that wait to leave on one asyncio connection: those of one turn leave with one write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.wire.frame import Body

LOOK_BYTES: Final = 4096
"""After so much was written it is looked whether it has left."""


class SendBuffer:
    """Gathers frames and writes them together.

    `gathering`: a read is being handled, at whose end its owner calls `flush`; until then parts of bodies may
    be views of mapped files. `held`: what was gathered stays until `release`.
    `transport`: where the bytes go; `None` until there is a connection.
    `last_write`: monotonic seconds. `unsent`: called now and then after a write with the bytes that have not
    left, unless there were and are none.
    """

    __slots__ = (
        "_clock", "_due", "_loop", "_parts", "_since", "_told", "_unsent", "gathered_bytes", "gathering",
        "held", "last_write", "transport",
    )  # fmt: skip

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, unsent: Callable[[int], None] | None = None
    ) -> None:
        self._unsent = unsent
        self._told = 0
        self._since = 0
        self._loop = loop
        self._clock = clock
        self._parts: list[Body] = []
        self._due = False
        self.gathered_bytes = 0
        self.gathering = False
        self.held = False
        self.last_write = clock.monotonic()
        self.transport: asyncio.Transport | None = None

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait here and in the transport."""
        transport = self.transport
        return self.gathered_bytes + (transport.get_write_buffer_size() if transport is not None else 0)

    def put(self, head: bytes, body: Body | list[Body], *, at_once: bool = False) -> None:
        """Send a frame with the others of this turn, or `at_once` when none is on its way."""
        gathering, parts = self.gathering, self._parts
        parts.append(head)
        size = len(head)
        for part in body if isinstance(body, list) else (body,) if body else ():
            parts.append(part if gathering or part.__class__ is bytes else bytes(part))
            size += len(part)
        self.gathered_bytes += size
        if gathering or self._due or self.held:
            return
        if at_once:
            self.flush()
        else:
            self._due = True
            self._loop.call_soon(self.flush)

    def hold(self) -> None:
        """Let nothing leave until `release`: not what was gathered by now, and not what comes."""
        self.held = True
        if self._parts:
            # Views of mapped files must not outlive this turn.
            self._parts[:] = [b"".join(self._parts)]

    def release(self) -> None:
        """Write what was held."""
        self.held = False
        self.flush()

    def flush(self) -> None:
        """Write all that was gathered, unless it is held."""
        self._due = False
        parts = self._parts
        if not parts or self.held:
            return
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self.gathered_bytes = 0
        self.last_write = self._clock.monotonic()
        if self.transport is not None and not self.transport.is_closing():
            # Joined first: parts may be views of a mapped file, which must not outlive this turn.
            self.transport.write(data)
            self._since += len(data)
            if self._unsent is not None and (self._told or self._since > LOOK_BYTES):
                self._since = 0
                size = self.transport.get_write_buffer_size()
                if size or self._told:
                    self._told = size
                    self._unsent(size)
