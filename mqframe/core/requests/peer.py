"""The other side of a connection, as handlers and brokers see it, whatever carries the bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Hashable
from typing import Any, Protocol, runtime_checkable

from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Body, Frame


@runtime_checkable
class Peer(Hashable, Protocol):
    """One connection. `address`: "ip:port" of the other side."""

    address: str

    @property
    def closed(self) -> bool:
        """Whether frames are neither taken nor sent any more."""

    def invoke(self, request: Request, body: Body = b"", timeout: float = 3.0) -> Awaitable[Frame]:
        """Send `request`; the awaitable of its answer, whatever its code.

        It fails with `CallTimeout` after `timeout` seconds and with `ConnectionLost` when the connection
        closes. Raises `ConnectionLost` and `TooMuchInFlight` at once when nothing could be sent.
        """

    def oneway(self, request: Request, body: Body = b"") -> None:
        """Send `request` without wanting an answer. Raises `ConnectionLost` and `TooMuchInFlight`."""

    def close(self, reason: str) -> None:
        """Send what is gathered, then close. Calls that wait fail with `ConnectionLost`, naming `reason`."""

    def answer(self, call: Any, reply: Any) -> None:
        """Send the answer `reply` to the request `call`; called by `Call.reply`."""
