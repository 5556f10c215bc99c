"""The client side on asyncio: one multiplexed connection for each address, opened when first needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from mqframe.core.errors import CallTimeout, ClosedError, ConnectError, FixError
from mqframe.core.requests.fields import Request
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Handler, handlers_of
from mqframe.core.wire.frame import Body, Frame
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.addresses import NOBODY_LISTENS, met_itself
from mqframe.net.async_peer import AsyncPeer
from mqframe.net.clock import LoopClock, within
from mqframe.net.connection import SILENT_SECONDS
from mqframe.net.endpoint import Endpoint
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    from mqframe.net.tls.following import FollowingContext


class Client:
    """Calls servers by address ("host:port"), and serves what they ask over the same connections.

    Callers that open the same address at once share one attempt. A lost connection fails its calls with
    `ConnectionLost`; the next call opens a new one. One over which nothing came since a call was sent is
    closed when that call's time is over, if that is a second at least. `on_open` is told the address of every
    connection that was opened, `on_close` of every one that ended. Belongs to the loop and the process that
    use it first. Raises `SettingError` for certificates that cannot be used.
    """

    def __init__(
        self,
        clock: LoopClock,
        settings: NetSettings | None = None,
        *,
        handlers: Mapping[int, Handler] | None = None,
        rpc_hooks: Iterable[RpcHook] = (),
        on_close: Callable[[str], object] = lambda address: None,
    ) -> None:
        self._settings = settings or NetSettings()
        self._clock = clock
        self.on_close = on_close
        self.on_open: Callable[[str], object] = lambda address: None
        self._peers: dict[str, AsyncPeer] = {}
        self._opening: dict[str, asyncio.Task[AsyncPeer]] = {}
        self._closed = False
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: FollowingContext | None = None
        if self._settings.tls:
            # Others need not wait for the library to load.
            from mqframe.net.tls.contexts import client_context
            from mqframe.net.tls.following import FollowingContext

            self._tls = FollowingContext(client_context, self._settings, clock)
        self._endpoint = Endpoint(self._settings, handlers or {}, rpc_hooks)
        self._group = PeerGroup(clock, self._endpoint, PeerEvents(on_close=self._peer_closed))

    def serve(self, owner: object) -> None:
        """Have requests of servers served by the marked handlers of `owner` from now on."""
        self._endpoint.handlers |= handlers_of(owner)

    def serve_late(self, make: Callable[[], object]) -> None:
        """As `serve`, for an owner that `make` returns when a request comes that nobody else serves."""
        self._endpoint.late.append(make)

    def sign(self, hook: RpcHook) -> None:
        """Have `hook` see every request, too; to be called before the first."""
        self._endpoint.rpc_hooks += (hook,)

    @property
    def in_flight_requests(self) -> int:
        """Requests that wait for their answers."""
        return self._endpoint.in_flight_requests

    @property
    def addresses(self) -> list[str]:
        """Addresses with an open connection."""
        return list(self._peers)

    def invoke(
        self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0
    ) -> Awaitable[Frame]:
        """Send `request` to `address` and give the awaitable of its answer, whatever its code.

        Calls made in one turn of the loop leave together. Awaiting raises `ConnectError` and `TlsError`
        (nothing was sent), `ConnectionLost` and `CallTimeout` (it may have been served), `timeout` seconds in
        all. Raises `TooMuchInFlight`, `ClosedError`, and `FixError` on another loop, at once.
        """
        peer = self._peers.get(address)
        if (
            peer is not None
            and not peer.closed
            and self._process == os.getpid()
            and self._loop is asyncio.get_running_loop()
        ):
            return peer.invoke(request, body, timeout)
        self.check_usable()
        return asyncio.ensure_future(self._open_and_invoke(address, request, body, timeout))

    async def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0) -> None:
        """Send `request` to `address` without wanting an answer; connecting takes at most `timeout` seconds.

        Raises `ConnectError`, `TlsError`, `ConnectionLost`, `TooMuchInFlight` and `ClosedError`.
        """
        self.check_usable()
        peer = self._peers.get(address)
        if peer is None or peer.closed:
            peer = await self._open(address, timeout)
        peer.oneway(request, body)

    async def close(self) -> None:
        """Close all connections. Calls under way fail with `ConnectionLost`, later ones `ClosedError`."""
        if self._process == os.getpid():
            self.check_loop()
        self._closed = True
        if self._process != os.getpid():
            return
        openers = tuple(self._opening.values())
        for opener in openers:
            opener.cancel()
        await asyncio.gather(*openers, return_exceptions=True)
        await self._group.stop("the client was closed")

    def check_usable(self) -> None:
        """Raise `ClosedError` once it was closed, and in a process that forked from its own.

        Raises `FixError` as `check_loop`.
        """
        if self._closed:
            raise ClosedError("the client was closed")
        if self._process != os.getpid():
            raise ClosedError("the process forked after the client was made; make a new one in the child")
        self.check_loop()

    def check_loop(self) -> None:
        """Raise `FixError` on a loop that is not the one in which it was used first."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise FixError(
                "this client belongs to the event loop in which it was used first; make one for each loop,"
                " or use the sync client, which any thread may call"
            )

    async def _open_and_invoke(self, address: str, request: Request, body: Body, timeout: float) -> Frame:
        began = self._clock.monotonic()
        peer = await self._open(address, timeout)
        left = timeout - (self._clock.monotonic() - began)  # less than none where it stood still meanwhile
        return await peer.invoke(request, body, max(left, min(timeout, SILENT_SECONDS)))

    async def _open(self, address: str, timeout: float) -> AsyncPeer:
        peer = self._peers.get(address)
        if peer is not None and not peer.closed:
            return peer
        opener = self._opening.get(address)
        if opener is None:
            opener = self._opening[address] = asyncio.ensure_future(self._connect(address))
            opener.add_done_callback(lambda done: self._opened(address, done))
        try:
            return await within(self._clock, timeout, asyncio.shield(opener))
        except CallTimeout:
            raise ConnectError(f"no connection to {address} within {timeout:g} s; nothing was sent") from None
        except asyncio.CancelledError:
            if opener.cancelled() and self._closed:
                raise ClosedError("the client was closed") from None
            raise

    def _opened(self, address: str, opener: asyncio.Task[AsyncPeer]) -> None:
        self._opening.pop(address, None)
        if not opener.cancelled():
            opener.exception()  # whoever waited was told; nobody may be left to look

    async def _connect(self, address: str) -> AsyncPeer:
        host, separator, port = address.rpartition(":")
        if not separator or not port.isdecimal():
            raise ConnectError(f"{address!r} is not an address like host:port")
        seconds = self._settings.connect_timeout_seconds
        connecting = self._connect_plain if self._tls is None else self._connect_secured
        try:
            peer = await within(self._clock, seconds, connecting(address, host.strip("[]"), int(port)))
        except CallTimeout:
            raise ConnectError(f"no connection to {address} within {seconds:g} s; nothing was sent") from None
        except (OSError, OverflowError, ValueError) as problem:  # the last: no name that can be looked up
            raise ConnectError(f"no connection to {address}: {problem}; nothing was sent") from problem
        self._group.start()
        self._peers[address] = peer
        self.on_open(address)
        return peer

    async def _connect_plain(self, address: str, host: str, port: int) -> AsyncPeer:
        loop = asyncio.get_running_loop()
        transport, peer = await loop.create_connection(lambda: AsyncPeer(self._group, address), host, port)
        if met_itself(transport.get_extra_info("socket")):
            peer.abort()
            raise ConnectionRefusedError(NOBODY_LISTENS)
        return peer

    async def _connect_secured(self, address: str, host: str, port: int) -> AsyncPeer:
        from mqframe.net.tls.opening import open_secured

        context = None if self._tls is None else self._tls.current
        assert context is not None
        peer = AsyncPeer(self._group, address)
        await open_secured(context, address, (host, port), peer)
        return peer

    def _peer_closed(self, peer: Peer) -> None:
        if self._peers.get(peer.address) is peer:
            del self._peers[peer.address]
        self.on_close(peer.address)
