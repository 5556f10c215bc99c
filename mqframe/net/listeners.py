"""The ports of one server: that of everybody, and one that operators may have to themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqframe.core.requests.serving import Handler, handlers_of
from mqframe.net.access.access import Access
from mqframe.net.access.audit import audited
from mqframe.net.access.guard import AccessRefusals, Guard
from mqframe.net.frame_path import FramePath
from mqframe.net.in_process.requests import InProcessRequests
from mqframe.net.latencies import Latencies
from mqframe.net.server import Server


class Listeners:
    """Starts and stops the ports, and has guards at them where there is something to guard.

    `make`: makes a server that answers all requests. `operator_port`: where operators are served; `None`: at
    the same port as everybody, 0: at any free one. Once started it is known, 0 for none of their own.
    Connections of operators have limits of their own.
    """

    def __init__(self, make: Callable[[], Server], operator_port: int | None, body_bytes_max: int) -> None:
        self._public = make()
        self._operators = None if operator_port is None else make()
        self._servers = (self._public,) if self._operators is None else (self._public, self._operators)
        self.operator_port = operator_port or 0
        self._body_bytes_max = body_bytes_max
        self._refusals: AccessRefusals | None = None
        if self._operators is not None:
            self._public.admit(Guard(None, None, body_bytes_max, clients_only=True).admit)

    def enforce(self, access: Access) -> None:
        """Serve only those whom `access` lets, and the requests of its plugins, too.

        Raises `ValueError` when one of these is served already.
        """
        self._refusals = refusals = AccessRefusals(access.clock)
        handlers = audited(handlers_of(*access.serving(), body_bytes_max=self._body_bytes_max))
        for server in self._servers:
            alone = server is self._public and self._operators is not None
            guard = Guard(access, refusals, self._body_bytes_max, clients_only=alone)
            server.serve(handlers)
            server.admit(guard.admit, lambda path: path.enforce(access.authentication, access.authorization))

    def replace(self, handlers: Mapping[int, Handler]) -> None:
        """Serve these requests by these handlers from now on, whatever served them before."""
        for server in self._servers:
            server.replace(handlers)

    def shorten(self, path: FramePath) -> None:
        """Serve everybody by `path`, where it takes requests and nobody else has to see them."""
        self._public.shorten(path)

    def serve_in_process(self, requests: InProcessRequests) -> None:
        """Serve peers of `requests` as everybody, not as operators where these have a port of their own."""
        self._public.serve_in_process(requests)

    async def start(self, host: str, port: int) -> int:
        """Listen for everybody, and for operators where they have a port; returns the port of everybody.

        Raises `OSError` when an address cannot be used.
        """
        if self._operators is not None:
            self.operator_port = await self._operators.start(host, self.operator_port)
        return await self._public.start(host, port)

    async def start_another(self, host: str, port: int) -> None:
        """Serve everybody at one more port."""
        await self._public.start(host, port)

    async def stop(self) -> None:
        """Close all connections and stop listening."""
        for server in self._servers:
            await server.stop()

    def measure(self) -> Latencies:
        """How long requests of everybody and of operators take, from now on."""
        latencies = self._public.measure()
        if self._operators is not None:
            self._operators.measure(latencies)
        return latencies

    def counters(self) -> dict[str, str]:
        """What the connections of everybody take, and how many requests were refused."""
        return self._public.counters() | self.refused()

    def refused(self) -> dict[str, str]:
        """How many requests were refused, where there is access control."""
        return {} if self._refusals is None else self._refusals.counters()
