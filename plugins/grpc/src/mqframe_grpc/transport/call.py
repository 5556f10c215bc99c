"""One call of a client: what it brought along, and what goes back to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, Protocol

from mqframe.core.clock import Timer
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.messages import IncomingMessages, framed
from mqframe_grpc.transport.status import GrpcError, GrpcStatus
from mqframe_grpc.transport.streams import HttpStream

ROOM_BYTES: Final = 64 << 10
"""So much of a call's answers may wait to leave before `send` waits."""
UNREAD_MAX: Final = 256
"""So many requests of a call may wait to be received: a client that has more to say waits for answers."""
UNREAD_BYTES: Final = 200
"""What one takes in memory besides its own bytes."""


class Asked(Protocol):
    """Reads requests: a class of messages, or what stands in its place."""

    def FromString(self, data: bytes, /) -> Any:  # noqa: N802 - as protobuf has it
        """The request in `data`. Raises `google.protobuf.message.DecodeError`."""


class Answered(Protocol):
    """An answer: a message, or what stands in its place."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - as protobuf has it
        """As it travels."""


class Method(NamedTuple):
    """What serves one RPC.

    `serve(call, request)` returns the answer, or `None` where it has sent all of them; `both_ways`: it is
    `serve(call)`, and takes the requests by `call.receive` as they come. `asked`: reads requests.
    """

    serve: Callable[..., Coroutine[Any, Any, Answered | None]]
    asked: Asked
    both_ways: bool = False


class CallHead(NamedTuple):
    """What a call begins with.

    `metadata`: the header fields of the client, names in lower case, `:path` among them; of several with one
    name the last, as Apache has it. `deadline`: monotonic seconds at which the client waits no longer;
    `None`: it said nothing of that.
    """

    method: Method
    metadata: Mapping[str, str]
    deadline: float | None


class CallCarrier(Protocol):
    """The connection of a call."""

    address: str

    @property
    def certificate(self) -> str:
        """The common name in the certificate that the client showed; "" without a trusted one."""

    def send(self, call: GrpcCall, data: bytes) -> None:
        """Have `data` leave behind what waits already."""

    def taken(self, call: GrpcCall, size: int) -> None:
        """Of what came for `call`, so many bytes, as they came, wait no more."""


class GrpcCall:
    """A call that is being served.

    `ended`: whether how it ends is decided, and it takes no more answers.

    For its connection: `stream`: by which it came; `over`: nothing is to be done for it any more; `request`:
    the one of a call of one, once it has wholly come; `first`: the first answer that was sent before its end;
    `owed_bytes`: what it may send again, and was not told. `head_bytes`: memory that its header fields take
    beyond what all calls have; `unread_bytes`: that of requests that nobody has received; `weighed`: all that
    it is held to account for.

    Of what is to leave: `headed`: whether the head of the answer has left; `waiting`: what has not, the first
    of it but for `offset` bytes, together `waiting_bytes`; `trailers`: what it ends with then; `moved`: when
    some of it left (monotonic s).
    """

    __slots__ = (
        "_arrivals",
        "_carrier",
        "_more",
        "_rooms",
        "_unread",
        "deadline",
        "ended",
        "first",
        "head_bytes",
        "headed",
        "incoming",
        "metadata",
        "method",
        "moved",
        "offset",
        "over",
        "owed_bytes",
        "request",
        "stream",
        "task",
        "timer",
        "trailers",
        "unread_bytes",
        "waiting",
        "waiting_bytes",
        "weighed",
    )

    def __init__(
        self, carrier: CallCarrier, stream: HttpStream, head: CallHead, incoming: IncomingMessages
    ) -> None:
        self._carrier = carrier
        self.stream = stream
        self.method, self.metadata, self.deadline = head
        self.incoming = incoming
        self.ended = self.over = False
        self.request: bytes | None = None
        self.first: Any = None
        self.head_bytes = self.owed_bytes = self.unread_bytes = self.weighed = 0
        self.task: asyncio.Task[Any] | None = None
        self.timer: Timer | None = None
        self.headed = False
        self.waiting: deque[bytes] = deque()
        self.waiting_bytes = self.offset = 0
        self.trailers: bytes | None = None
        self.moved = 0.0
        self._rooms: list[asyncio.Future[None]] = []
        self._unread: deque[tuple[bytes, int]] = deque()
        self._arrivals: list[asyncio.Future[None]] = []
        self._more = True

    @property
    def address(self) -> str:
        """The client's "ip:port"."""
        return self._carrier.address

    @property
    def certificate(self) -> str:
        """The common name in the certificate that the client showed; "" without a trusted one."""
        return self._carrier.certificate

    # For who serves it

    async def send(self, answer: m.ProtoMessage) -> None:
        """Send an answer, and wait while the client has not read enough of those before.

        Raises `GrpcError` CANCELLED when the call has ended, before or meanwhile: the answer may not have
        arrived. Raises `asyncio.CancelledError` instead in the task that serves it.
        """
        if self.first is None:
            self.first = answer
        self.pass_on(framed(answer.SerializeToString()))
        await self.room()

    def pass_on(self, data: bytes) -> None:
        """Send answers as they travel; who sends more waits for `room`. Raises as `send`."""
        self._refuse_when_ended()
        self._carrier.send(self, data)

    async def room(self) -> None:
        """Wait while the client has not read enough of what was sent. Raises as `send`."""
        while self.waiting_bytes > ROOM_BYTES and not self.ended:
            await self._wait_among(self._rooms)
        self._refuse_when_ended()

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

        Raises `google.protobuf.message.DecodeError`, and what `send` raises.
        """
        while not self._unread:
            self._refuse_when_ended()
            if not self._more:
                return None
            await self._wait_among(self._arrivals)
        data, size = self._unread.popleft()
        self.unread_bytes -= UNREAD_BYTES + len(data)
        self._carrier.taken(self, size)
        return self.method.asked.FromString(data)

    def _refuse_when_ended(self) -> None:
        if self.ended:
            raise GrpcError(GrpcStatus.CANCELLED, "the call has ended")

    async def _wait_among(self, waiting: list[asyncio.Future[None]]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        try:
            await future
        finally:
            if future in waiting:
                waiting.remove(future)

    # For its connection

    @property
    def held_bytes(self) -> int:
        """Memory that what came for it takes."""
        request = 0 if self.request is None else len(self.request)
        return self.head_bytes + self.incoming.partial_bytes + request + self.unread_bytes

    def arrived(self, message: bytes, size: int) -> bool:
        """A request came, in `size` bytes; whether not too many wait to be received."""
        self._unread.append((message, size))
        self.unread_bytes += UNREAD_BYTES + len(message)
        _wake(self._arrivals)
        return len(self._unread) <= UNREAD_MAX

    def no_more(self) -> None:
        """The client sends no more."""
        self._more = False
        _wake(self._arrivals)

    def has_room(self) -> None:
        """What waited has left."""
        _wake(self._rooms)

    def let_go(self) -> None:
        """It has ended: nobody waits for anything of it any more."""
        self._unread.clear()
        self.unread_bytes = 0
        self.request = None
        self.incoming.drop()
        _wake(self._arrivals)
        _wake(self._rooms)


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    waiting.clear()
