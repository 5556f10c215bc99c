"""The client side for plain threads: no event loop, many threads share one connection for each address."""

from __future__ import annotations

import concurrent.futures
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mqframe.core.clock import Clock
from mqframe.core.errors import ClosedError, ConnectError, TlsError
from mqframe.core.requests import Request
from mqframe.core.requests.serving import Handler
from mqframe.core.wire.frame import Body, Frame
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.addresses import NOBODY_LISTENS, met_itself
from mqframe.net.blocking_peer import BlockingPeer
from mqframe.net.endpoint import Endpoint
from mqframe.net.idle_reader import IdleReader
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    from mqframe.net.tls.following import FollowingContext
    from mqframe.net.tls.socket import TlsSocket


class BlockingClient:
    """Calls servers by address ("host:port") from any number of threads.

    A calling thread waits at the socket itself. A connection over which nothing came since a call was sent is
    closed when that call's time is over, if that is a second at least. One idle reader, a thread, started
    with the first connection, reads connections that nobody waits at, runs `handlers` (which must give a
    `Reply` or `None`, quickly, and may not call the client) and closes idle connections. `on_close` is told
    the address of every connection that ended, in whichever thread noticed. Raises `SettingError` for
    certificates that cannot be used.
    """

    def __init__(
        self,
        clock: Clock,
        settings: NetSettings | None = None,
        *,
        handlers: Mapping[int, Handler] | None = None,
        rpc_hooks: Iterable[RpcHook] = (),
        on_close: Callable[[str], None] | None = None,
    ) -> None:
        self.clock = clock
        self.endpoint = Endpoint(settings or NetSettings(), handlers or {}, rpc_hooks)
        self.lock = threading.Lock()
        self._settings = self.endpoint.settings
        self._on_close = on_close
        self._peers: dict[str, BlockingPeer] = {}
        self._opening: dict[str, concurrent.futures.Future[BlockingPeer]] = {}
        self._idle_reader: IdleReader | None = None
        self._closed = False
        self._process = os.getpid()
        self._tls: FollowingContext | None = None
        if self._settings.tls:
            # Others need not wait for the library to load.
            from mqframe.net.tls.contexts import client_context
            from mqframe.net.tls.following import FollowingContext

            self._tls = FollowingContext(client_context, self._settings, clock)

    @property
    def addresses(self) -> list[str]:
        """Addresses with an open connection."""
        return list(self._peers)

    def invoke(self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0) -> Frame:
        """Send `request` to `address` and wait for the answer, whatever its code, `timeout` seconds at most.

        Raises `ConnectError`, `TlsError` and `TooMuchInFlight` (nothing was sent), `ConnectionLost` and
        `CallTimeout` (it may have been served), `ClosedError`.
        """
        peer = self._peers.get(address)
        if peer is not None and not peer.closed and self._process == os.getpid():
            return peer.invoke(request, body, timeout)
        began = self.clock.monotonic()
        peer = self._open(address, timeout)
        return peer.invoke(request, body, max(0.0, timeout - (self.clock.monotonic() - began)))

    def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float = 3.0) -> list[Frame]:
        """Send `requests`, without bodies, to `address` at once; their answers, in this order.

        Raises as `invoke` when one of them got none within `timeout` seconds.
        """
        began = self.clock.monotonic()
        peer = self._open(address, timeout)
        return peer.invoke_all(requests, max(0.0, timeout - (self.clock.monotonic() - began)))

    def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0) -> None:
        """Send `request` to `address` without wanting an answer; takes at most `timeout` seconds.

        Raises `ConnectError`, `TlsError`, `ConnectionLost`, `TooMuchInFlight` and `ClosedError`.
        """
        self._open(address, timeout).oneway(request, body, timeout)

    def close(self) -> None:
        """Close all connections. Calls under way fail with `ConnectionLost`, later ones `ClosedError`."""
        with self.lock:
            self._closed = True
            peers = tuple(self._peers.values())
            reader, self._idle_reader = self._idle_reader, None
        if self._process != os.getpid():
            return
        for peer in peers:
            peer.close("the client was closed")
        if reader is not None:
            reader.stop()

    # What connections use

    def submit(self, peer: BlockingPeer, frame: Frame) -> None:
        """Have a request of the other side served by the idle reader."""
        reader = self._idle_reader
        if reader is not None:
            reader.submit(peer, frame)

    def closed(self, peer: BlockingPeer) -> None:
        """Forget a connection that ended."""
        with self.lock:
            if self._peers.get(peer.address) is peer:
                del self._peers[peer.address]
        if self._on_close is not None:
            self._on_close(peer.address)

    # Opening

    def check_usable(self) -> None:
        """Raise `ClosedError` once it was closed, and in a process that forked from its own."""
        if self._closed:
            raise ClosedError("the client was closed")
        if self._process != os.getpid():
            raise ClosedError("the process forked after the client was made; make a new one in the child")

    def _open(self, address: str, timeout: float) -> BlockingPeer:
        self.check_usable()
        peer = self._peers.get(address)
        if peer is not None and not peer.closed:
            return peer
        with self.lock:
            # Again, now that no attempt can end meanwhile: two at once would leave one connection behind.
            peer = self._peers.get(address)
            if peer is not None and not peer.closed:
                return peer
            opening = self._opening.get(address)
            mine = opening is None
            if opening is None:
                opening = self._opening[address] = concurrent.futures.Future()
        if mine:
            try:
                opening.set_result(self._connect(address, timeout))
            except BaseException as problem:  # those who share the attempt must hear of every end it has
                opening.set_exception(problem)
            finally:
                with self.lock:
                    del self._opening[address]
        try:
            return opening.result(timeout)
        except concurrent.futures.TimeoutError:
            raise ConnectError(f"no connection to {address} within {timeout:g} s; nothing was sent") from None

    def _connect(self, address: str, timeout: float) -> BlockingPeer:
        host, separator, port = address.rpartition(":")
        if not separator or not port.isdecimal():
            raise ConnectError(f"{address!r} is not an address like host:port")
        seconds = max(0.001, min(timeout, self._settings.connect_timeout_seconds))
        deadline = self.clock.monotonic() + seconds
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), seconds)
            if met_itself(connection):
                connection.close()
                raise ConnectionRefusedError(NOBODY_LISTENS)
        except (OSError, OverflowError, ValueError) as problem:  # the last: no name that can be looked up
            raise ConnectError(f"no connection to {address}: {problem}; nothing was sent") from problem
        secured = connection if self._tls is None else self._secure(address, connection, deadline)
        peer = BlockingPeer(self, address, secured)
        with self.lock:
            if not self._closed:
                if self._idle_reader is None:
                    self._idle_reader = IdleReader(self.clock, self._settings)
                self._idle_reader.add(peer)
                self._peers[address] = peer
                return peer
        connection.close()
        raise ClosedError("the client was closed")

    def _secure(self, address: str, connection: socket.socket, deadline: float) -> TlsSocket:
        from mqframe.net.tls.contexts import handshake_error, open_pipe
        from mqframe.net.tls.socket import secure

        context = None if self._tls is None else self._tls.current
        assert context is not None
        host = address.rpartition(":")[0].strip("[]")
        try:
            pipe = open_pipe(context, address, host)
            return secure(connection, pipe, lambda: deadline - self.clock.monotonic())
        except TlsError:
            connection.close()
            raise
        except OSError as problem:  # what ssl raises is one, too
            connection.close()
            raise handshake_error(address, problem) from problem
