"""One call of a client: what it brought along, and what goes back to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, Protocol

from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.messages import Incoming, framed

ROOM_BYTES: Final = 64 << 10
"""So much of a call's answers may wait to leave before `send` waits."""
_UNREAD_MAX: Final = 64


class Method(NamedTuple):
    """What serves one RPC.

    `serve(call, request)` returns the answer, or `None` where it has sent all of them; `both_ways`: it is
    `serve(call)`, and takes the requests by `call.receive` as they come. `asked`: class of requests.
    """

    serve: Callable[..., Coroutine[Any, Any, m.ProtoMessage | None]]
    asked: type[m.ProtoMessage]
    both_ways: bool = False


class Carrier(Protocol):
    """The connection of a call."""

    address: str

    @property
    def certificate(self) -> str:
        """The common name in the certificate that the client showed; "" without a trusted one."""

    def send(self, call: GrpcCall, data: bytes) -> None:
        """Have `data` leave behind what waits already."""

    def taken(self, call: GrpcCall, size: int) -> None:
        """Of what came for `call`, so many bytes wait no more."""


class GrpcCall:
    """A call that is being served.

    `metadata`: the header fields of the client, without those of HTTP, names in lower case; `deadline`:
    monotonic seconds at which the client waits no longer, `None`: it said nothing of that. `waiting`: what
    has not left; `headed`: whether the head of the answer was sent; `ended`: whether nothing more can be.
    """

    __slots__ = (
        "_arrivals",
        "_carrier",
        "_more",
        "_unread",
        "deadline",
        "ended",
        "headed",
        "incoming",
        "metadata",
        "method",
        "number",
        "room",
        "started",
        "task",
        "timer",
        "trailers",
        "waiting",
        "waiting_bytes",
    )

    def __init__(
        self,
        carrier: Carrier,
        number: int,
        method: Method,
        metadata: Mapping[str, str],
        deadline: float | None,
        incoming: Incoming,
    ) -> None:
        self._carrier = carrier
        self.number = number
        self.method = method
        self.metadata = metadata
        self.deadline = deadline
        self.incoming = incoming
        self.started = False
        self.ended = False
        self.headed = False
        self.task: asyncio.Task[Any] | None = None
        self.timer: Any = None
        self.waiting: deque[bytes] = deque()
        self.waiting_bytes = 0
        self.trailers: list[tuple[str, str]] | None = None
        self.room: asyncio.Future[None] | None = None
        self._unread: deque[tuple[bytes, int]] = deque()
        self._arrivals: asyncio.Future[None] | None = None
        self._more = True

    @property
    def address(self) -> str:
        """The client's "ip:port"."""
        return self._carrier.address

    @property
    def certificate(self) -> str:
        """The common name in the certificate that the client showed; "" without a trusted one."""
        return self._carrier.certificate

    async def send(self, answer: m.ProtoMessage) -> None:
        """Send an answer, and wait while the client has not read enough of those before.

        Raises `asyncio.CancelledError` when the client gives up meanwhile.
        """
        self._carrier.send(self, framed(answer.SerializeToString()))
        if self.waiting_bytes > ROOM_BYTES:
            self.room = asyncio.get_running_loop().create_future()
            await self.room

    @property
    def is_full(self) -> bool:
        """Whether the client has not read enough of what was sent."""
        return self.waiting_bytes > ROOM_BYTES

    def send_now(self, answer: m.ProtoMessage) -> None:
        """Send an answer, behind those that wait; for few and small ones. Without effect when it ended."""
        if not self.ended:
            self._carrier.send(self, framed(answer.SerializeToString()))

    async def receive(self) -> Any:
        """The next request of a call of many; `None` when the client sends no more.

        Raises `google.protobuf.message.DecodeError`.
        """
        while not self._unread:
            if not self._more:
                return None
            self._arrivals = asyncio.get_running_loop().create_future()
            await self._arrivals
        data, size = self._unread.popleft()
        self._carrier.taken(self, size)
        return self.method.asked.FromString(data)

    def arrived(self, message: bytes, size: int) -> bool:
        """A request came, in `size` bytes; whether not too many wait to be received."""
        self._unread.append((message, size))
        self._wake()
        return len(self._unread) <= _UNREAD_MAX

    def no_more(self) -> None:
        """The client sends no more."""
        self._more = False
        self._wake()

    def _wake(self) -> None:
        if self._arrivals is not None and not self._arrivals.done():
            self._arrivals.set_result(None)

    def has_room(self) -> None:
        """What waited has left."""
        if self.room is not None and not self.room.done():
            self.room.set_result(None)
