"""What all connections of one client or server share: limits, handlers, hooks, numbers of requests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from mqframe.core.errors import TooMuchInFlight
from mqframe.core.requests.serving import Handler, handlers_of
from mqframe.core.wire.frame import HEADER_BYTES_MAX
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.net.settings import NetSettings


class Endpoint:
    """Shared state of connections; touches no socket, loop or lock. `opaques` numbers the requests.

    `header_bytes_max`: longest header that is read. `held_bytes`: bodies of requests that are answered later.
    `admit`: raises for calls that may not be served; `None`: all may. `late`: make the owners of further
    handlers, when a request comes for which there is none.
    """

    __slots__ = (
        "admit", "handlers", "header_bytes_max", "held_bytes", "in_flight_bytes", "in_flight_requests",
        "late", "opaques", "rpc_hooks", "settings",
    )  # fmt: skip

    def __init__(
        self,
        settings: NetSettings,
        handlers: Mapping[int, Handler],
        rpc_hooks: Iterable[RpcHook],
        header_bytes_max: int = HEADER_BYTES_MAX,
    ) -> None:
        self.settings = settings
        self.header_bytes_max = header_bytes_max
        self.held_bytes = 0
        self.admit: Callable[..., None] | None = None
        self.handlers = dict(handlers)
        self.late: list[Callable[[], object]] = []
        self.rpc_hooks = tuple(rpc_hooks)
        self.opaques: Iterator[int] = itertools.count(1)
        self.in_flight_requests = 0
        self.in_flight_bytes = 0

    def handler_of(self, code: int) -> Handler | None:
        """Who serves requests of this code, those of `late` included; `None`: nobody."""
        handler = self.handlers.get(code)
        while handler is None and self.late:
            for late_code, late in handlers_of(self.late.pop()()).items():
                self.handlers.setdefault(late_code, late)
            handler = self.handlers.get(code)
        return handler

    def acquire(self, body_bytes: int) -> None:
        """Count a request as in flight, or raise `TooMuchInFlight`."""
        settings = self.settings
        if self.in_flight_requests >= settings.in_flight_requests_max:
            raise TooMuchInFlight(
                f"{self.in_flight_requests} requests wait for their answers, the most allowed"
            )
        if self.in_flight_bytes + body_bytes > settings.in_flight_bytes_max and self.in_flight_bytes:
            raise TooMuchInFlight(
                f"{self.in_flight_bytes} bytes are in flight; {body_bytes} more pass the limit of "
                f"{settings.in_flight_bytes_max}"
            )
        self.in_flight_requests += 1
        self.in_flight_bytes += body_bytes

    def release(self, body_bytes: int) -> None:
        """Count a request as no longer in flight."""
        self.in_flight_requests -= 1
        self.in_flight_bytes -= body_bytes
