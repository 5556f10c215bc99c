"""The server on asyncio: listens, and serves the requests of all connections in one loop."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Iterable, Mapping

from mqframe.core.measuring.open_files import connections_that_fit
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Handler
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.log import get_logger
from mqframe.net.async_peer import AsyncPeer
from mqframe.net.budgets import ConnectionBudgets
from mqframe.net.busy_poll import BusyPoll
from mqframe.net.clock import LoopClock
from mqframe.net.endpoint import Endpoint
from mqframe.net.frame_path import FramePath
from mqframe.net.in_process.requests import InProcessRequests
from mqframe.net.latencies import Latencies
from mqframe.net.listening import close, listen, port_of
from mqframe.net.peer_group import PeerEvents, PeerGroup
from mqframe.net.settings import NetSettings
from mqframe.net.tls.contexts import server_context
from mqframe.net.tls.following import FollowingContext
from mqframe.net.tls.gate import TlsGate

log = get_logger("net")


class Server:
    """Serves requests by their codes.

    A handler runs while the bytes that held its request are being read. When all frames of one read were
    handled, `events.turn_end` is called once, then all answers leave with one write, at once or when the
    future that it returned is done. Raises `SettingError`
    for certificates that cannot be used.
    """

    def __init__(
        self,
        handlers: Mapping[int, Handler],
        clock: LoopClock,
        settings: NetSettings | None = None,
        *,
        rpc_hooks: Iterable[RpcHook] = (),
        events: PeerEvents | None = None,
    ) -> None:
        settings = settings or NetSettings()
        self._busy_poll_seconds = settings.busy_poll_microseconds / 1e6
        self._endpoint = Endpoint(settings, handlers, rpc_hooks, settings.header_bytes_max)
        self._budgets = ConnectionBudgets(settings, clock)
        self._latencies: Latencies | None = None
        self._group = PeerGroup(clock, self._endpoint, events or PeerEvents(), self._budgets)
        self._keep_files_free(settings.connections_max)
        self._listeners: list[asyncio.Server] = []
        self._arrive: Callable[[], asyncio.Protocol] = lambda: AsyncPeer(self._group)
        self._gate: TlsGate | None = None
        context = FollowingContext(server_context, settings, clock)
        if context.current is not None:
            plain = settings.tls_server_mode == "permissive"
            self._gate = TlsGate(context, clock, self._arrive, plain=plain, patience=settings.idle_seconds)
            self._gate.full = lambda: self._group.is_full
            self._budgets.arriving = self._gate.waiting
            self._budgets.troubles += self._gate.troubles
            self._arrive = self._gate.arrive

    def _keep_files_free(self, connections_max: int) -> None:
        # The system would refuse those beyond its limit in silence, and files of the store with them.
        files_max = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        fit = connections_that_fit(connections_max, files_max)
        self._budgets.connections_max = fit
        if fit < connections_max:
            log.info("open files limit connections", connections_max=fit, files_max=files_max)

    @property
    def peers(self) -> frozenset[Peer]:
        """The open connections."""
        return frozenset(self._group.peers)

    def measure(self, latencies: Latencies | None = None) -> Latencies:
        """How long requests take, from now on. `latencies`: those of a server that is counted together."""
        if self._latencies is None:
            self._latencies = self._group.latencies = latencies or Latencies(self._endpoint.handlers)
        return self._latencies

    def admit(
        self, guard: Callable[..., None], heeds: Callable[[FramePath], bool] = lambda path: False
    ) -> None:
        """Have `guard` see each request from now on before anything is done with it.

        It raises `Refusal` for those that may not be served; requests of unknown codes are among them.
        `heeds`: has the shorter way do as `guard` would; `False`: it cannot, and is left out.
        """
        self._endpoint.admit = guard
        path, self._group.frame_path = self._group.frame_path, None
        if path is not None and heeds(path):
            self._group.frame_path = path

    def serve(self, handlers: Mapping[int, Handler]) -> None:
        """Serve these requests, too. Raises `ValueError` when one of them is served already."""
        if twice := sorted(self._endpoint.handlers.keys() & handlers.keys()):
            raise ValueError(f"requests {', '.join(map(str, twice))} are served already")
        self._endpoint.handlers |= handlers

    def replace(self, handlers: Mapping[int, Handler]) -> None:
        """Serve these requests by these handlers from now on, whatever served them before."""
        self._endpoint.handlers |= handlers
        self._group.frame_path = None

    def shorten(self, path: FramePath) -> None:
        """Serve requests by `path`, where it takes them and nobody else has to see them."""
        if self._endpoint.admit is None and not self._endpoint.rpc_hooks:
            self._group.frame_path = path

    def serve_in_process(self, requests: InProcessRequests) -> None:
        """Serve peers of `requests` like connections, while this server runs."""
        requests.serve_by(self._group)

    def counters(self) -> dict[str, str]:
        """What all connections take together, and the most that they may."""
        return self._budgets.counters(self._group.peers, self._endpoint.held_bytes)

    async def start(self, host: str, port: int) -> int:
        """Listen on `host` (name, IPv4 or IPv6) and `port` (0: any free one); returns the port.

        May be called several times, for several addresses. Raises `OSError` when the address cannot be used.
        """
        listener = await listen(self._arrive, host, port)
        self._listeners.append(listener)
        self._group.start()
        if self._group.busy_poll is None and self._busy_poll_seconds:
            loop, monotonic = asyncio.get_running_loop(), self._group.clock.monotonic
            self._group.busy_poll = BusyPoll(loop, self._busy_poll_seconds, monotonic)
        return port_of(listener)

    async def stop(self) -> None:
        """Stop listening, send what is gathered, close all connections."""
        await close(self._listeners)
        if self._gate is not None:
            self._gate.close()
        await self._group.stop("the server stops")
        for listener in self._listeners:
            await listener.wait_closed()
        self._listeners.clear()
