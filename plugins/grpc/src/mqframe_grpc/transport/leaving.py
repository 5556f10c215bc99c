"""What leaves to one client: answers of its calls, each as fast as the client takes it, in turn.

HTTP/2 has a window for each stream and one for all of them. An answer that has no room waits here, and what
a call ends with waits behind it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mqframe_grpc.transport.call import ROOM_BYTES, GrpcCall
from mqframe_grpc.transport.fields import block_of
from mqframe_grpc.transport.http import ANSWER_HEAD, ANSWER_OK, Http
from mqframe_grpc.transport.status import GrpcError, message_field
from mqframe_grpc.transport.streams import HttpStream

WRITE_BYTES: Final = 64 << 10
"""So much is handed to the transport at a time: it tells by then whether the client reads at all."""
PIECE_BYTES_MAX: Final = 32 << 10
"""Longest part of an answer before others have their turn, where clients take so long frames."""


class Leaving:
    """Sends the answers of one connection's calls, by `http`.

    `now`: monotonic seconds; `over`: is told of each call whose end has left. `paused`: whether the transport
    takes nothing now; whoever sets it back pumps. `waiting_bytes`: of all calls together.
    """

    __slots__ = ("_http", "_now", "_over", "_ready", "_waiting", "paused", "waiting_bytes")

    def __init__(self, http: Http, now: Callable[[], float], over: Callable[[GrpcCall], None]) -> None:
        self._http = http
        self._now = now
        self._over = over
        self._ready: OrderedDict[GrpcCall, None] = OrderedDict()
        self._waiting: dict[GrpcCall, None] = {}
        self.paused = False
        self.waiting_bytes = 0

    def answer(self, call: GrpcCall, data: bytes) -> bool:
        """Have `data`, all of the call's answer, leave now, with its end; whether there was room for that."""
        if call.headed or call.waiting_bytes or not self._has_room(call.stream, len(data)):
            return False
        call.headed = True
        self._http.answer(call.stream, data)
        self._over(call)
        return True

    def _has_room(self, stream: HttpStream, size: int) -> bool:
        http = self._http
        return (
            not self._ready
            and not self.paused
            and size <= WRITE_BYTES - http.pending
            and size <= http.room(stream)
        )

    def send(self, call: GrpcCall, data: bytes) -> None:
        """Have `data` leave behind what waits of the call."""
        http = self._http
        if not call.headed:
            call.headed = True
            http.headers(call.stream, ANSWER_HEAD)
        size = len(data)
        if not call.waiting_bytes and self._has_room(call.stream, size):
            http.data(call.stream, data)
            return
        if not call.waiting_bytes:
            call.moved = self._now()
            self._waiting[call] = self._ready[call] = None
        call.waiting.append(data)
        call.waiting_bytes += size
        self.waiting_bytes += size
        self.pump()

    def finish(self, call: GrpcCall, problem: GrpcError | None) -> None:
        """End the call behind what waits of it, well or by `problem`."""
        call.trailers = ANSWER_OK if problem is None else error_block(problem)
        if not call.waiting_bytes:
            self._end(call)

    def drop(self, call: GrpcCall) -> None:
        """Nothing that waits of the call leaves any more."""
        self._ready.pop(call, None)
        self._waiting.pop(call, None)
        self.waiting_bytes -= call.waiting_bytes
        call.waiting.clear()
        call.waiting_bytes = call.offset = 0

    def refuse(self, stream: HttpStream, block: bytes) -> None:
        """Answer what is no call, or not served, at once; whoever does so ends the stream."""
        self._http.headers(stream, block, end=True)

    def opened(self, call: GrpcCall) -> None:
        """The client has more room for the call."""
        if call.waiting_bytes:
            self._ready[call] = None

    def opened_all(self) -> None:
        """It may have for any."""
        self._ready.update(self._waiting)

    @property
    def can_go_on(self) -> bool:
        """Whether something that waits could leave now."""
        return bool(self._ready) and not self.paused and self._http.window > 0

    def pump(self) -> None:
        """Send what the client has room for, but no more than `WRITE_BYTES` at a time."""
        http, ready = self._http, self._ready
        while ready and not self.paused and http.pending < WRITE_BYTES and http.window > 0:
            call, _ = ready.popitem(last=False)
            self._send_piece(call)

    def stalled(self, since: float) -> list[GrpcCall]:
        """The calls of which nothing has left since then (monotonic s), though something waits."""
        return [call for call in self._waiting if call.moved <= since]

    def _send_piece(self, call: GrpcCall) -> None:
        http, waiting, offset = self._http, call.waiting, call.offset
        data = waiting[0]
        size = min(http.room(call.stream), PIECE_BYTES_MAX, len(data) - offset)
        if size <= 0:
            return  # until the client has room for this one
        with memoryview(data) as view:
            http.data(call.stream, view[offset : offset + size])
        call.moved = self._now()
        call.waiting_bytes -= size
        self.waiting_bytes -= size
        if offset + size < len(data):
            call.offset = offset + size
        else:
            waiting.popleft()
            call.offset = 0
        if call.waiting_bytes <= ROOM_BYTES:
            call.has_room()
        if call.waiting_bytes:
            self._ready[call] = None
            return
        del self._waiting[call]
        if call.trailers is not None:
            self._end(call)

    def _end(self, call: GrpcCall) -> None:
        block = call.trailers or ANSWER_OK
        self._http.headers(call.stream, block if call.headed else ANSWER_HEAD + block, end=True)
        call.headed = True
        self._over(call)


def error_block(problem: GrpcError) -> bytes:
    """The fields by which a call ends that has failed."""
    return block_of(
        [("grpc-status", str(int(problem.status))), ("grpc-message", message_field(problem.text))]
    )


def refusal_block(problem: GrpcError) -> bytes:
    """The fields that are all of the answer to a call that is not served."""
    accepted = [("grpc-accept-encoding", "identity,gzip")]
    return ANSWER_HEAD + block_of(accepted) + error_block(problem)
