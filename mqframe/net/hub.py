"""What a connection for plain threads needs of the client that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from mqframe.core.clock import Clock
from mqframe.core.frame import Frame
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    from mqframe.net.blocking_peer import BlockingPeer


class Hub(Protocol):
    """What a connection needs of the client that it belongs to."""

    clock: Clock
    settings: NetSettings
    rpc_hooks: tuple[RpcHook, ...]
    opaques: Iterator[int]

    def admit(self, body_bytes: int) -> None:
        """Count a request in, or raise `TooMuchInFlight`."""

    def release(self, body_bytes: int) -> None:
        """Count it out."""

    def serve(self, peer: BlockingPeer, frame: Frame) -> None:
        """Take a request of the other side."""

    def closed(self, peer: BlockingPeer) -> None:
        """Hear that a connection ended."""
