"""One connection used by many threads without an event loop.

The first thread that waits for an answer leads: it reads the socket, for itself and for the others, who sleep
until their answer is there. When it has its own it hands the lead to a sleeper. So a call from one thread
costs one send and one receive, and nobody switches threads for it. While nobody waits, the client's idle
reader reads (`mqframe.net.idle_reader`).
"""

from __future__ import annotations

import _thread
import contextlib
import inspect
import select
import selectors
import socket
import struct
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, cast

from msgspec import Struct

from mqframe.core.clock import Clock
from mqframe.core.codes import FLAG_RESPONSE
from mqframe.core.errors import CallTimeout, ConnectionLost, FrameError, TooMuchInFlight
from mqframe.core.requests import Request
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply, as_reply
from mqframe.core.wire.frame import Body, Frame
from mqframe.log import get_logger
from mqframe.net.connection import Connection
from mqframe.net.endpoint import Endpoint
from mqframe.net.serving import RequestServing

if TYPE_CHECKING:
    from mqframe.net.tls.socket import TlsSocket  # others need not wait for the library to load

log = get_logger("net")

_RECEIVE_BYTES: Final = 64 * 1024
_RECEIVE_BYTES_MORE: Final = 256 * 1024
_SLICE_SECONDS: Final = 0.1
"""How long one receive blocks at most; shorter waits are polled for exactly."""
_RECEIVE_TIMEOUT: Final = struct.pack("ll", 0, int(_SLICE_SECONDS * 1_000_000))
_FOLLOWER_SECONDS: Final = 1.0


class PeerOwner(Protocol):
    """The client that a connection belongs to. `lock` guards the state of all its connections."""

    clock: Clock
    endpoint: Endpoint
    lock: threading.Lock

    def submit(self, peer: BlockingPeer, frame: Frame) -> None:
        """Have `peer.serve(frame)` called soon, by a thread that is not waiting for an answer."""

    def closed(self, peer: BlockingPeer) -> None:
        """A connection ended."""


class _Slot:
    """Where the answer to one call goes. `wake` is held while its thread sleeps."""

    __slots__ = ("answer", "problem", "promoted", "wake")

    def __init__(self) -> None:
        self.answer: Frame | None = None
        self.problem: ConnectionLost | None = None
        self.promoted = False
        self.wake: _thread.LockType | None = None


class BlockingPeer:
    """One connection. Made by `BlockingClient`, not by applications.

    `address`: "ip:port" of the other side; `last_used`: monotonic seconds of the last frame; `led`: whether
    some thread is reading.
    """

    def __init__(self, owner: PeerOwner, address: str, connection: socket.socket | TlsSocket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _RECEIVE_TIMEOUT)
        self.address = address
        self.descriptor = connection.fileno()
        self.led = False
        self.last_used = self._received = owner.clock.monotonic()
        self._owner = owner
        self._clock = owner.clock
        self._lock = owner.lock
        self._connection: Connection[_Slot] = Connection(owner.endpoint, address)
        self._requests = RequestServing(owner.endpoint)
        self._stalled_seconds = owner.endpoint.settings.stalled_seconds
        self._socket = connection
        self._send_lock = threading.Lock()
        self._receive_bytes = _RECEIVE_BYTES
        self._ended = False

    @property
    def closed(self) -> bool:
        """Whether nothing is sent any more."""
        return self._connection.closed

    # Calls of this side

    def invoke(self, request: Request, body: Body, timeout: float) -> Frame:
        """Send `request` and wait for its answer.

        Raises `CallTimeout`, `ConnectionLost` and `TooMuchInFlight`.
        """
        connection, slot = self._connection, _Slot()
        deadline = self._clock.monotonic() + timeout
        with self._lock:
            frame = connection.call(request, len(body), timeout, slot)
        try:
            self._send(connection.encode(frame, body), frame.body, deadline)
            self._wait(slot, deadline)
            answer = slot.answer
            if answer is None:
                raise slot.problem or self._late(frame, timeout)
        finally:
            if slot.answer is None:
                self._leave(frame, slot)
        if connection.hooks:
            connection.finished(frame, answer)
        return answer

    def invoke_all(self, requests: Sequence[Request], timeout: float) -> list[Frame]:
        """Send `requests`, which have no bodies, with one write; their answers, in this order.

        Raises as `invoke` when one got none.
        """
        connection = self._connection
        deadline = self._clock.monotonic() + timeout
        calls: list[tuple[Frame, _Slot]] = []
        try:
            with self._lock:
                for request in requests:
                    slot = _Slot()
                    calls.append((connection.call(request, 0, timeout, slot), slot))
            sent = [connection.encode(frame, b"") + frame.body for frame, _ in calls]
            self._send(b"".join(sent), b"", deadline)
            answers = []
            for frame, slot in calls:
                self._wait(slot, deadline)
                if slot.answer is None:
                    raise slot.problem or self._late(frame, timeout)
                connection.finished(frame, slot.answer)
                answers.append(slot.answer)
            return answers
        finally:
            for frame, slot in calls:
                self._leave(frame, slot)

    def oneway(self, request: Request, body: Body, timeout: float) -> None:
        """Send `request` without wanting an answer. Raises `ConnectionLost` and `TooMuchInFlight`."""
        frame = self._connection.oneway(request)
        self._send(self._connection.encode(frame, body), frame.body, self._clock.monotonic() + timeout)
        self._connection.finished(frame, None)

    # Requests of the other side

    def serve(self, frame: Frame) -> None:
        """Run the handler of a request and send what it answers."""
        # A handler may use of its peer what is the same under asyncio: address, closed, close, answer.
        call = Call(frame, cast("Peer", self), self._clock.monotonic())
        result = self._requests.serve(call)
        if isinstance(result, Reply | Struct):
            if not call.answered:
                call.reply(as_reply(result))
        elif result is not None:
            if inspect.iscoroutine(result):
                result.close()
            log.error("a handler of a blocking client may not be asynchronous", code=frame.code)

    def answer(self, call: Call, reply: Reply) -> None:
        """Send the answer to a request of the other side; called by `Call.reply`."""
        self._requests.answered(call, reply)
        head = self._connection.answer(call, reply)
        if head:
            try:
                self._send(head, reply.joined_body(), self._clock.monotonic() + self._stalled_seconds)
            except (ConnectionLost, TooMuchInFlight) as problem:
                log.warning("answer not sent", peer=self.address, code=call.frame.code, problem=str(problem))

    # The socket

    def close(self, reason: str) -> None:
        """Close; calls under way fail with `ConnectionLost`."""
        with self._lock:
            if not self._connection.close(reason):
                return
            led, self.led = self.led, True
        self._shutdown()  # wakes the leader, who ends the rest
        if not led:
            self._end()

    def close_if_idle(self, now: float) -> None:
        """Close when nothing passed for too long; `now`: monotonic seconds."""
        if reason := self._connection.idle_reason(now - self.last_used):
            self.close(reason)

    def watch(self, selector: selectors.BaseSelector) -> bool:
        """Have `selector` tell when something waits to be read, unless the connection is closed: `False`.

        The descriptor is given back only after `closed` was set under the lock, so it is this connection's.
        """
        with self._lock:
            if self.closed:
                return False
            selector.register(self.descriptor, selectors.EVENT_READ, self)
            return True

    def read_waiting(self) -> None:
        """Read what is there without waiting; for the idle reader, while no caller reads."""
        with self._lock:
            if self.led or self.closed:
                return
            self.led = True
        try:
            data = self._socket.recv(_RECEIVE_BYTES_MORE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            data = None
        except OSError as problem:
            self._connection.blame(str(problem))
            data = b""
        if data is not None:
            self._take(data)
        self._hand_over()

    def _send(self, head: bytes, body: Body, deadline: float) -> None:
        data = b"".join((head, body)) if len(body) else head
        remaining = max(0.0, deadline - self._clock.monotonic())
        if not self._send_lock.acquire(timeout=remaining):
            raise TooMuchInFlight(f"{self.address} does not read; nothing was sent")
        sent = 0
        try:
            with contextlib.suppress(BlockingIOError):
                sent = self._socket.send(data, socket.MSG_DONTWAIT)
            if sent < len(data):
                self._send_rest(memoryview(data), sent, deadline)
            self.last_used = self._clock.monotonic()
        except OSError as problem:
            self._connection.blame(str(problem))
            lost = ConnectionLost(f"connection to {self.address}: {self._connection.reason}")
            lost.maybe_stored = sent > 0
            raise lost from problem
        finally:
            self._send_lock.release()

    def _send_rest(self, data: memoryview, sent: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        while sent < len(data):
            remaining = deadline - self._clock.monotonic()
            if remaining > 0:
                poll.poll(min(remaining, _FOLLOWER_SECONDS) * 1000)
            elif sent == 0:
                raise TooMuchInFlight(f"{self.address} does not read; nothing was sent")
            else:
                # Part of a frame is out: nothing that follows could be understood.
                self._connection.blame("it did not read a whole request in time")
                self._shutdown()
                raise ConnectionLost(f"connection to {self.address} closed: {self._connection.reason}")
            try:
                sent += self._socket.send(data[sent:], socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue

    def _wait(self, slot: _Slot, deadline: float) -> None:
        """Lead or follow until `slot` is filled or its time is over."""
        clock = self._clock
        while slot.answer is None and slot.problem is None:
            with self._lock:
                if slot.answer is not None or slot.problem is not None:
                    return
                lead = not self.led
                if lead:
                    self.led = True
                else:
                    wake = slot.wake = _thread.allocate_lock()
                    wake.acquire()
            if not lead:
                remaining = deadline - clock.monotonic()
                wake.acquire(timeout=min(max(0.0, remaining), _FOLLOWER_SECONDS))
                with self._lock:
                    slot.wake = None
                    lead, slot.promoted = slot.promoted, False
            if lead:
                try:
                    self._lead(slot, deadline)
                finally:
                    self._hand_over()
            if deadline <= clock.monotonic():
                return

    def _lead(self, slot: _Slot, deadline: float) -> None:
        clock = self._clock
        while slot.answer is None and slot.problem is None:
            remaining = deadline - clock.monotonic()
            if remaining <= 0:
                return
            try:
                if remaining < _SLICE_SECONDS:
                    poll = select.poll()
                    poll.register(self._socket, select.POLLIN)
                    poll.poll(remaining * 1000)
                    data = self._socket.recv(self._receive_bytes, socket.MSG_DONTWAIT)
                else:
                    data = self._socket.recv(self._receive_bytes)
            except BlockingIOError:
                continue
            except OSError as problem:
                self._connection.blame(str(problem))
                data = b""
            self._take(data)

    def _late(self, frame: Frame, timeout: float) -> CallTimeout:
        """The error of a call whose time is over. A server that says nothing at all loses its connection."""
        with self._lock:
            call = self._connection.take(frame.opaque)
            now = self._clock.monotonic()
            reason = "" if call is None else self._connection.silence(call, self._received, now)
        if reason:
            log.warning("connection closed", peer=self.address, reason=reason)
            self.close(reason)
        return self._connection.late(frame, timeout)

    def _leave(self, request: Frame, slot: _Slot) -> None:
        """Forget a call that got no answer; if it was just given the lead, pass that on."""
        with self._lock:
            self._connection.take(request.opaque)
            promoted, slot.promoted = slot.promoted, False
        if promoted:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the lead to a thread that sleeps, if there is one."""
        with self._lock:
            closed = self._connection.closed
            if not closed and not self._pass_on():
                self.led = False
        if closed:
            self._end()

    def _pass_on(self) -> bool:
        for call in self._connection.pending.values():
            slot = call.waiter
            if slot.wake is not None and not slot.promoted:
                slot.promoted = True
                slot.wake.release()
                return True
        return False

    def _take(self, data: bytes) -> None:
        """Hand out the frames in `data`; empty data is the end of the connection."""
        if not data:
            self._end()
            return
        self._receive_bytes = _RECEIVE_BYTES_MORE if len(data) == _RECEIVE_BYTES else self._receive_bytes
        connection = self._connection
        self._received = self._clock.monotonic()
        connection.receive(data)
        try:
            while (frame := connection.next_frame()) is not None:
                self.last_used = self._clock.monotonic()
                if frame.flag & FLAG_RESPONSE:
                    with self._lock:
                        call = connection.take(frame.opaque)
                        if call is not None:
                            call.waiter.answer = frame
                            if call.waiter.wake is not None:
                                call.waiter.wake.release()
                else:
                    self._owner.submit(self, frame)
        except FrameError as problem:
            log.warning("malformed frame", peer=self.address, problem=str(problem))
            connection.blame(f"malformed frame: {problem}")
            self._end()

    def _shutdown(self) -> None:
        with contextlib.suppress(OSError):  # the other side was faster
            self._socket.shutdown(socket.SHUT_RDWR)

    def _end(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            for slot, problem in self._connection.end(None):
                slot.problem = problem
                if slot.wake is not None and not slot.promoted:
                    slot.wake.release()
        self._shutdown()
        with self._send_lock:
            self._socket.close()
        self._owner.closed(self)
