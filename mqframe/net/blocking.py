"""The client side for plain threads: no event loop, many threads share one connection for each address."""

from __future__ import annotations

import concurrent.futures
import inspect
import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from mqframe.core.clock import Clock
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import ClosedError, ConnectError, Refusal, TlsError, TooMuchInFlight
from mqframe.core.frame import Body, Frame
from mqframe.core.requests import Request
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.hooks.isolate import before_rpc
from mqframe.log import get_logger
from mqframe.net.blocking_peer import BlockingPeer
from mqframe.net.call import Call, Handler, Reply, failure_reply
from mqframe.net.caretaker import Caretaker
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    import ssl

    from mqframe.net.peer import Peer
    from mqframe.net.tls_socket import TlsSocket

log = get_logger("net")


class BlockingClient:
    """Calls servers by address ("host:port") from any number of threads.

    A calling thread waits at the socket itself. One caretaker thread, started with the first connection,
    reads connections that nobody waits at, runs `handlers` (which must give a `Reply` or `None`, quickly, and
    may not call the client) and closes idle connections. `on_close` is told the address of every connection
    that ended, in whichever thread noticed. Raises `SettingError` for certificates that cannot be used.
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
        self.settings = settings or NetSettings()
        self.rpc_hooks = tuple(rpc_hooks)
        self.opaques: Iterator[int] = itertools.count(1)
        self._handlers = dict(handlers or {})
        self._on_close = on_close
        self._lock = threading.Lock()
        self._peers: dict[str, BlockingPeer] = {}
        self._opening: dict[str, concurrent.futures.Future[BlockingPeer]] = {}
        self._in_flight_requests = 0
        self._in_flight_bytes = 0
        self._caretaker: Caretaker | None = None
        self._closed = False
        self._process = os.getpid()
        self._tls: ssl.SSLContext | None = None
        if self.settings.tls:
            from mqframe.net.tls import client_context  # others need not wait for the library to load

            self._tls = client_context(self.settings)

    @property
    def addresses(self) -> list[str]:
        """Addresses with an open connection."""
        return list(self._peers)

    @property
    def in_flight_requests(self) -> int:
        """Requests that wait for their answers."""
        return self._in_flight_requests

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

    def disconnect(self, address: str, reason: str) -> None:
        """Close the connection to `address`, if there is one; the next call opens a new one."""
        peer = self._peers.get(address)
        if peer is not None:
            peer.close(reason)

    def close(self) -> None:
        """Close all connections. Calls under way fail with `ConnectionLost`, later ones `ClosedError`."""
        with self._lock:
            self._closed = True
            peers = tuple(self._peers.values())
            caretaker, self._caretaker = self._caretaker, None
        if self._process != os.getpid():
            return
        for peer in peers:
            peer.close("the client was closed")
        if caretaker is not None:
            caretaker.stop()

    # What connections use

    def admit(self, body_bytes: int) -> None:
        """Count a request in, or raise `TooMuchInFlight`."""
        settings = self.settings
        with self._lock:
            if self._in_flight_requests >= settings.in_flight_requests_max:
                raise TooMuchInFlight(
                    f"{self._in_flight_requests} requests wait for answers, the most allowed"
                )
            if self._in_flight_bytes and self._in_flight_bytes + body_bytes > settings.in_flight_bytes_max:
                raise TooMuchInFlight(
                    f"{self._in_flight_bytes} bytes are in flight; {body_bytes} more pass the limit of "
                    f"{settings.in_flight_bytes_max}"
                )
            self._in_flight_requests += 1
            self._in_flight_bytes += body_bytes

    def release(self, body_bytes: int) -> None:
        """Count a request out."""
        with self._lock:
            self._in_flight_requests -= 1
            self._in_flight_bytes -= body_bytes

    def serve(self, peer: BlockingPeer, frame: Frame) -> None:
        """Have a request of the other side served by the caretaker."""
        caretaker = self._caretaker
        if caretaker is not None:
            caretaker.submit(peer, frame)

    def closed(self, peer: BlockingPeer) -> None:
        """Forget a connection that ended."""
        with self._lock:
            if self._peers.get(peer.address) is peer:
                del self._peers[peer.address]
        if self._on_close is not None:
            self._on_close(peer.address)

    def _answer(self, peer: BlockingPeer, frame: Frame) -> None:
        # A handler sees the same face of a connection as under asyncio: address, close, oneway, answer.
        call = Call(frame, cast("Peer", peer), self.clock.monotonic())
        try:
            before_rpc(self.rpc_hooks, peer.address, frame, serving=True)
            handler = self._handlers.get(frame.code)
            if handler is None:
                raise Refusal(
                    ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"request code {frame.code} is not supported"
                )
            result = handler(call)
        except Exception as problem:  # a handler's error is its request's, not the connection's
            reply = failure_reply(problem)
            if reply is None:
                log.error("request failed", code=frame.code, peer=peer.address, exc_info=problem)
                reply = Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(problem).__name__}: {problem}")
            result = reply
        if isinstance(result, Reply):
            if not call.answered:
                call.reply(result)
        elif result is not None:
            if inspect.iscoroutine(result):
                result.close()
            log.error("a handler of a blocking client may not be asynchronous", code=frame.code)

    # Opening

    def _check_usable(self) -> None:
        if self._closed:
            raise ClosedError("the client was closed")
        if self._process != os.getpid():
            raise ClosedError("the process forked after the client was made; make a new one in the child")

    def _open(self, address: str, timeout: float) -> BlockingPeer:
        self._check_usable()
        peer = self._peers.get(address)
        if peer is not None and not peer.closed:
            return peer
        with self._lock:
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
                with self._lock:
                    del self._opening[address]
        try:
            return opening.result(timeout)
        except concurrent.futures.TimeoutError:
            raise ConnectError(f"no connection to {address} within {timeout:g} s; nothing was sent") from None

    def _connect(self, address: str, timeout: float) -> BlockingPeer:
        host, separator, port = address.rpartition(":")
        if not separator or not port.isdecimal():
            raise ConnectError(f"{address!r} is not an address like host:port")
        seconds = max(0.001, min(timeout, self.settings.connect_timeout_seconds))
        deadline = self.clock.monotonic() + seconds
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), seconds)
        except (OSError, OverflowError) as problem:
            raise ConnectError(f"no connection to {address}: {problem}; nothing was sent") from problem
        secured = connection if self._tls is None else self._secure(address, connection, deadline)
        peer = BlockingPeer(self, address, secured)
        with self._lock:
            if not self._closed:
                if self._caretaker is None:
                    self._caretaker = Caretaker(self.clock, self.settings, self._answer)
                self._caretaker.add(peer)
                self._peers[address] = peer
                return peer
        connection.close()
        raise ClosedError("the client was closed")

    def _secure(self, address: str, connection: socket.socket, deadline: float) -> TlsSocket:
        from mqframe.net.tls import handshake_error, open_pipe
        from mqframe.net.tls_socket import secure

        assert self._tls is not None
        host = address.rpartition(":")[0].strip("[]")
        try:
            pipe = open_pipe(self._tls, address, host)
            return secure(connection, pipe, lambda: deadline - self.clock.monotonic())
        except TlsError:
            connection.close()
            raise
        except OSError as problem:  # what ssl raises is one, too
            connection.close()
            raise handshake_error(address, problem) from problem
