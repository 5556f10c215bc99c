"""The calls of one connection, from their first byte to their end.

| what comes           | a call of one request                  | a call of many                     |
|----------------------|----------------------------------------|------------------------------------|
| header fields        | its request is waited for              | is served                          |
| a message            | is kept; a second one: INTERNAL        | is to be received, if not too many |
| the client's end     | is served; without a request: INTERNAL | nothing more is to be received     |
| a reset              | what serves it is cancelled            | the same                           |
| its deadline         | DEADLINE_EXCEEDED, now                 | the same                           |
| the connection's end | what serves it is cancelled            | the same                           |

A call that ends before the client's side of it is reset once its end has left: no more is sent for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

from google.protobuf.message import DecodeError

from mqframe.core.clock import TimerClock
from mqframe.log import get_logger
from mqframe_grpc.transport.call import Answered, CallCarrier, GrpcCall, Method
from mqframe_grpc.transport.fields import MakeReader, status_block
from mqframe_grpc.transport.floods import Floods
from mqframe_grpc.transport.frames import ErrorCode
from mqframe_grpc.transport.heads import NotGrpc, RequestHead, read_head
from mqframe_grpc.transport.http import WINDOW_SPARE_BYTES, Http
from mqframe_grpc.transport.leaving import Leaving, refusal_block
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_grpc.transport.messages import IncomingMessages, WholeMessage, framed
from mqframe_grpc.transport.status import GrpcError, GrpcStatus
from mqframe_grpc.transport.steps import Finished, run_at_once
from mqframe_grpc.transport.streams import Data, Fields, HttpStream

log = get_logger("grpc")

_OWED_BYTES: Final = WINDOW_SPARE_BYTES // 2
"""So much may be owed to a call of many: a whole message fits into the window all the same."""
_FIELD_BYTES: Final = 96
"""What a field takes in memory beyond what HTTP/2 counts."""
_HEAD_BYTES_FREE: Final = 4 << 10
"""So much of header fields is not held against a client: what all calls have."""
_TIMED_SECONDS_MAX: Final = 24 * 3600.0
"""Later deadlines end no call here: the client gives it up."""


class Served(Protocol):
    """What is served. `in_work_bytes`: of requests that are being served; `reader`: of header fields."""

    limits: GrpcLimits
    reader: MakeReader
    methods: Mapping[str, Method]
    in_work_bytes: int

    @property
    def clock(self) -> TimerClock:
        """The time of deadlines."""


class OpenCalls:
    """Serves calls by the methods of `served`.

    `carrier`: their connection, `http` and `floods`: of that; `wake`: is called when something is to leave.
    `held_bytes`: what came for them and is not served yet.
    `begun`: how many there were. `spent`: bytes that were made of what came, for who shares out turns.
    """

    def __init__(
        self, carrier: CallCarrier, served: Served, http: Http, floods: Floods, wake: Callable[[], None]
    ) -> None:
        self._carrier = carrier
        self._served = served
        self._limits = served.limits
        self._clock = served.clock
        self._http = http
        self._floods = floods
        self._wake = wake
        self._open: dict[int, GrpcCall] = {}
        self._fresh: list[GrpcCall] = []
        self.leaving = Leaving(http, served.clock.monotonic, self._over)
        self.held_bytes = 0
        self.begun = 0
        self.spent = 0

    def __len__(self) -> int:
        return len(self._open)

    # What came

    def request(self, came: Fields) -> None:
        """A client has opened a stream. Raises `HttpBroken` when too many were refused."""
        stream = came.stream
        self._floods.content += 1
        if len(self._open) >= self._limits.calls_max:
            # The client may try it elsewhere: it was not looked at.
            self._http.reset(stream.number, ErrorCode.REFUSED_STREAM)
            self._floods.reset()
            return
        try:
            head = read_head(came.fields, self._served.methods, self._clock.monotonic())
        except GrpcError as problem:
            self._refuse(stream, refusal_block(problem))
        except NotGrpc as problem:
            if problem.status:
                self._refuse(stream, status_block(problem.status))
            else:
                self._malformed(stream)
        else:
            if head.length and stream.half_closed:
                self._malformed(stream)
                return
            stream.missing = head.length
            self._begin(stream, head, came.size + _FIELD_BYTES * len(came.fields))

    def _refuse(self, stream: HttpStream, block: bytes) -> None:
        self.leaving.refuse(stream, block)
        self._close(stream)

    def _close(self, stream: HttpStream) -> None:
        """All has left that is said on the stream."""
        if stream.half_closed:
            self._http.forget(stream)
        else:
            self._http.reset(stream.number, ErrorCode.NO_ERROR)

    def _malformed(self, stream: HttpStream) -> None:
        self._http.reset(stream.number, ErrorCode.PROTOCOL_ERROR)
        self._floods.reset()

    def _begin(self, stream: HttpStream, head: RequestHead, held_bytes: int) -> None:
        incoming = IncomingMessages(head.encoding, self._limits.message_bytes_max)
        call = self._open[stream.number] = GrpcCall(self._carrier, stream, head.call, incoming)
        self.begun += 1
        if held_bytes > _HEAD_BYTES_FREE:
            call.head_bytes = held_bytes - _HEAD_BYTES_FREE
            self._weigh(call)
        if call.deadline is not None:
            self._fresh.append(call)
        if call.method.both_ways:
            self._start(call, call.method.serve(call))

    def data(self, came: Data) -> None:
        """More of a request came. Raises `HttpBroken` when too much was nothing."""
        stream, data, size = came
        if data:
            self._floods.content += 1
        elif not stream.half_closed:
            self._floods.signal()
        call = self._open.get(stream.number)
        if call is None or call.ended:
            return
        if size != len(data):
            self._owe(call, size - len(data))
        if stream.half_closed and call.request is None and data and not call.method.both_ways:
            request = call.incoming.take_only(data)
            if request is not None:
                self._serve(call, request)
                return
        call.incoming.feed(data)
        try:
            while not call.ended and (message := call.incoming.take()) is not None:
                self._message(call, message)
        except GrpcError as problem:
            self._finish(call, problem)
        self._weigh(call)
        if stream.half_closed:
            self.half_closed(stream)

    def _message(self, call: GrpcCall, message: WholeMessage) -> None:
        content = message.content
        self.spent += max(0, len(content) - message.wire_bytes)
        if call.method.both_ways:
            if not call.arrived(content, message.wire_bytes):
                raise GrpcError(GrpcStatus.RESOURCE_EXHAUSTED, "too many requests wait")
        elif call.request is None:
            call.request = content
        else:
            raise GrpcError(GrpcStatus.INTERNAL, "a second request in a call of one")

    def half_closed(self, stream: HttpStream) -> None:
        """The client sends no more for a call."""
        call = self._open.get(stream.number)
        if call is None or call.ended:
            return
        if call.incoming.partial_bytes:
            self._finish(call, GrpcError(GrpcStatus.INTERNAL, "a request was cut off"))
        elif call.method.both_ways:
            call.no_more()
        elif call.request is None:
            self._finish(call, GrpcError(GrpcStatus.INTERNAL, "the request is missing"))
        else:
            self._serve(call, call.request)

    def reset(self, number: int) -> None:
        """A stream has ended before its time."""
        call = self._open.get(number)
        if call is not None:
            self._end(call)

    def window(self, number: int, *, fits: bool) -> None:
        """The client has more room for answers, on the stream `number`, 0: on all together.

        `fits`: whether the stream was not reset for that. Raises `HttpBroken` when that happens too often.
        """
        if not fits:
            self.reset(number)
            self._floods.reset()
            return
        call = self._open.get(number)
        if call is not None:
            self.leaving.opened(call)
        self.leaving.pump()

    def turn_over(self) -> None:
        """Time calls that began in this turn of the loop, and did not end in it."""
        for call in self._fresh:
            if not call.over and call.deadline is not None:
                seconds = max(0.0, call.deadline - self._clock.monotonic())
                if seconds <= _TIMED_SECONDS_MAX:
                    call.timer = self._clock.call_later(seconds, partial(self._too_late, call))
        self._fresh.clear()

    # Serving

    def _serve(self, call: GrpcCall, request: bytes) -> None:
        served, size = self._served, len(request)
        if served.in_work_bytes and served.in_work_bytes + size > self._limits.partial_bytes_max:
            problem = GrpcError(GrpcStatus.RESOURCE_EXHAUSTED, "the server is busy: too much is in work")
            self._finish(call, problem)
            return
        if call.request is not None:
            call.request = None
            self._weigh(call)
        try:
            asked = call.method.asked.FromString(request)
        except DecodeError as problem:
            self._finish(call, GrpcError(GrpcStatus.INTERNAL, f"the request cannot be read: {problem}"))
            return
        self._start(call, call.method.serve(call, asked))
        if call.task is not None:
            served.in_work_bytes += size
            call.task.add_done_callback(lambda _: self._worked(size))

    def _worked(self, size: int) -> None:
        self._served.in_work_bytes -= size

    def _start(self, call: GrpcCall, work: Any) -> None:
        try:
            rest = run_at_once(work)
        except asyncio.CancelledError:
            self._finish(call, GrpcError(GrpcStatus.CANCELLED, "given up"))
        except Exception as problem:  # isolation boundary: of this call alone
            self._failed(call, problem)
        else:
            if isinstance(rest, Finished):
                self._answer(call, rest.result)
                return
            call.task = asyncio.ensure_future(rest)
            call.task.add_done_callback(lambda task: self._done(call, task))
            if call.ended:  # it was shed by what it sent
                call.task.cancel()

    def _done(self, call: GrpcCall, task: asyncio.Task[Any]) -> None:
        problem = None if task.cancelled() else task.exception()
        if call.ended:
            if problem is not None and not isinstance(problem, GrpcError):
                log.error("call failed after its end", peer=self._carrier.address, exc_info=problem)
        elif task.cancelled():
            self._finish(call, GrpcError(GrpcStatus.CANCELLED, "given up"))
        elif problem is not None:
            self._failed(call, problem)
        else:
            self._answer(call, task.result())

    def _answer(self, call: GrpcCall, answer: Answered | None) -> None:
        if answer is not None and not call.ended:
            try:
                data = framed(answer.SerializeToString())
            except Exception as problem:  # isolation boundary: of this call alone
                self._failed(call, problem)
                return
            if self.leaving.answer(call, data):
                call.ended = True
                self._wake()
                return
            self.leaving.send(call, data)
        self._finish(call, None)

    def _failed(self, call: GrpcCall, problem: BaseException) -> None:
        if not isinstance(problem, GrpcError):
            if not call.ended:
                log.error("call failed", peer=self._carrier.address, exc_info=problem)
            problem = GrpcError(GrpcStatus.INTERNAL, f"{type(problem).__name__}: {problem}")
        self._finish(call, problem)

    def _too_late(self, call: GrpcCall) -> None:
        self.cut_off(call, GrpcError(GrpcStatus.DEADLINE_EXCEEDED, "the time of the call is over"))

    # Ends

    def _finish(self, call: GrpcCall, problem: GrpcError | None) -> None:
        """Send what a call ends with, once all that waits has left."""
        if call.ended:
            return
        call.ended = True
        self.leaving.finish(call, problem)
        if call.task is not None:
            call.task.cancel()  # where it is not done
        self._wake()

    def cut_off(self, call: GrpcCall, problem: GrpcError) -> None:
        """End a call now, without what waits of it."""
        self.leaving.drop(call)
        if not call.ended:
            self._finish(call, problem)
        elif not call.over:
            self.leaving.finish(call, problem)
            self._wake()

    def _over(self, call: GrpcCall) -> None:
        """The end of a call has left."""
        self._close(call.stream)
        self._let_go(call)

    def _end(self, call: GrpcCall) -> None:
        """Nothing more leaves for a call, not even its end."""
        call.ended = True
        self.leaving.drop(call)
        self._let_go(call)
        if call.task is not None:
            call.task.cancel()

    def _let_go(self, call: GrpcCall) -> None:
        call.over = True
        self._open.pop(call.stream.number, None)
        self.held_bytes -= call.weighed
        call.weighed = 0
        call.let_go()
        if call.timer is not None:
            call.timer.cancel()

    def end_all(self) -> None:
        """The connection is gone."""
        for call in tuple(self._open.values()):
            self._end(call)

    def cut_off_all(self, problem: GrpcError) -> None:
        """The connection is about to be closed."""
        for call in tuple(self._open.values()):
            self.cut_off(call, problem)

    def cut_off_stalled(self, since: float) -> None:
        """End those of which the client has taken nothing since then (monotonic s)."""
        for call in self.leaving.stalled(since):
            self.cut_off(call, GrpcError(GrpcStatus.CANCELLED, "answers are not read"))

    # For calls

    def taken(self, call: GrpcCall, size: int) -> None:
        """A request of `size` bytes was received: the client may send as much again."""
        if not call.ended:
            self._owe(call, size)
            self._weigh(call)

    def _owe(self, call: GrpcCall, size: int) -> None:
        call.owed_bytes += size
        if call.owed_bytes >= _OWED_BYTES and not call.stream.half_closed:
            self._http.give_back(call.owed_bytes, call.stream)
            call.owed_bytes = 0
            self._wake()

    def _weigh(self, call: GrpcCall) -> None:
        if not call.over:
            held = call.held_bytes
            self.held_bytes += held - call.weighed
            call.weighed = held
