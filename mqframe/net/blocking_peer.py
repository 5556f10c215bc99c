"""One connection used by many threads without an event loop.

The first thread that waits for an answer leads: it reads the socket, for itself and for the others, who sleep
until their answer is there. When it has its own it hands the lead to a sleeper. So a call from one thread
costs one send and one receive, and nobody switches threads for it. While nobody waits, the client's caretaker
thread reads (`mqframe.net.caretaker`).
"""

from __future__ import annotations

import _thread
import contextlib
import select
import socket
import struct
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mqframe.core.codes import FLAG_ONEWAY, FLAG_RESPONSE
from mqframe.core.errors import CallTimeout, ConnectionLost, FrameError, TooMuchInFlight
from mqframe.core.frame import Body, Frame, FrameDecoder, encode_answer, encode_head
from mqframe.core.requests import Request, encode_fields
from mqframe.hooks.isolate import after_rpc, before_rpc
from mqframe.log import get_logger
from mqframe.net.hub import Hub
from mqframe.net.other_side import closed_reason
from mqframe.net.peer import request_name

if TYPE_CHECKING:
    from mqframe.net.call import Call, Reply
    from mqframe.net.tls_socket import TlsSocket

log = get_logger("net")

_RECEIVE_BYTES: Final = 64 * 1024
_RECEIVE_BYTES_MORE: Final = 256 * 1024
_SLICE_SECONDS: Final = 0.1
"""How long one receive blocks at most; shorter waits are polled for exactly."""
_RECEIVE_TIMEOUT: Final = struct.pack("ll", 0, int(_SLICE_SECONDS * 1_000_000))
_FOLLOWER_SECONDS: Final = 1.0


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

    `address`, `local_address`: "ip:port" of the other and of this side; `last_used`: monotonic seconds of the
    last frame; `led`: whether some thread is reading.
    """

    def __init__(self, hub: Hub, address: str, connection: socket.socket | TlsSocket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _RECEIVE_TIMEOUT)
        self.address = address
        host, port = connection.getsockname()[:2]
        self.local_address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.descriptor = connection.fileno()
        self.closed = False
        self.led = False
        self.last_used = hub.clock.monotonic()
        self._hub = hub
        self._socket = connection
        self._decoder = FrameDecoder(hub.settings.frame_bytes_max)
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._waiting: dict[int, _Slot] = {}
        self._receive_bytes = _RECEIVE_BYTES
        self._reason = ""
        self._ended = False

    def invoke(self, request: Request, body: Body, timeout: float) -> Frame:
        """Send `request` and wait for its answer.

        Raises `CallTimeout`, `ConnectionLost` and `TooMuchInFlight`.
        """
        hub = self._hub
        size = len(body)
        hub.admit(size)
        try:
            deadline = hub.clock.monotonic() + timeout
            opaque = next(hub.opaques) & 0x7FFFFFFF
            frame = Frame(request.CODE, opaque, 0, None, encode_fields(request))
            if hub.rpc_hooks:
                frame.body = body
                before_rpc(hub.rpc_hooks, self.address, frame, serving=False)
            slot = _Slot()
            with self._lock:
                self._check_open()
                self._waiting[opaque] = slot
            try:
                self._send(encode_head(frame, size), body, deadline)
                self._wait(slot, deadline)
            finally:
                if slot.answer is None:
                    self._leave(opaque, slot)
            if slot.answer is None:
                raise slot.problem or self._late(frame, timeout)
            if hub.rpc_hooks:
                after_rpc(hub.rpc_hooks, self.address, frame, slot.answer)
            return slot.answer
        finally:
            hub.release(size)

    def invoke_all(self, requests: Sequence[Request], timeout: float) -> list[Frame]:
        """Send `requests`, which have no bodies, with one write; their answers, in this order.

        Raises as `invoke` when one got none.
        """
        hub = self._hub
        deadline = hub.clock.monotonic() + timeout
        frames = [
            Frame(request.CODE, next(hub.opaques) & 0x7FFFFFFF, 0, None, encode_fields(request))
            for request in requests
        ]
        slots = [_Slot() for _ in frames]
        answers: list[Frame] = []
        with contextlib.ExitStack() as after:
            for frame in frames:
                hub.admit(0)
                after.callback(hub.release, 0)
                if hub.rpc_hooks:
                    before_rpc(hub.rpc_hooks, self.address, frame, serving=False)
            with self._lock:
                self._check_open()
                self._waiting.update((frame.opaque, slot) for frame, slot in zip(frames, slots, strict=True))
            for frame, slot in zip(frames, slots, strict=True):
                after.callback(self._leave, frame.opaque, slot)
            self._send(b"".join(map(encode_head, frames)), b"", deadline)
            for frame, slot in zip(frames, slots, strict=True):
                self._wait(slot, deadline)
                if slot.answer is None:
                    raise slot.problem or self._late(frame, timeout)
                if hub.rpc_hooks:
                    after_rpc(hub.rpc_hooks, self.address, frame, slot.answer)
                answers.append(slot.answer)
        return answers

    def _late(self, frame: Frame, timeout: float) -> CallTimeout:
        return CallTimeout(f"{self.address} did not answer {request_name(frame.code)} within {timeout:g} s")

    def oneway(self, request: Request, body: Body, timeout: float) -> None:
        """Send `request` without wanting an answer. Raises `ConnectionLost` and `TooMuchInFlight`."""
        hub = self._hub
        opaque = next(hub.opaques) & 0x7FFFFFFF
        frame = Frame(request.CODE, opaque, FLAG_ONEWAY, None, encode_fields(request), body)
        if hub.rpc_hooks:
            before_rpc(hub.rpc_hooks, self.address, frame, serving=False)
        self._check_open()
        self._send(encode_head(frame, len(body)), body, hub.clock.monotonic() + timeout)
        if hub.rpc_hooks:
            after_rpc(hub.rpc_hooks, self.address, frame, None)

    def answer(self, call: Call, reply: Reply) -> None:
        """Send the answer to a request of the other side; called by `Call.reply`."""
        frame = call.frame
        body = b"".join(reply.body) if isinstance(reply.body, list) else reply.body
        fields = reply.fields()
        oneway = frame.flag & FLAG_ONEWAY
        if not oneway and not self.closed:
            head = encode_answer(frame.opaque, reply.code, fields, reply.remark, len(body))
            deadline = self._hub.clock.monotonic() + self._hub.settings.stalled_seconds
            try:
                self._send(head, body, deadline)
            except (ConnectionLost, TooMuchInFlight) as problem:
                log.warning("answer not sent", peer=self.address, code=frame.code, problem=str(problem))
        if self._hub.rpc_hooks:
            answer = Frame(reply.code, frame.opaque, FLAG_RESPONSE, reply.remark, fields, body)
            after_rpc(self._hub.rpc_hooks, self.address, frame, None if oneway else answer)

    def close(self, reason: str) -> None:
        """Close; calls under way fail with `ConnectionLost`."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            self._reason = self._reason or reason
            led, self.led = self.led, True
        self._shutdown()  # wakes the leader, who ends the rest
        if not led:
            self._end()

    def read_waiting(self) -> None:
        """Read what is there without waiting; for the caretaker, while no caller reads."""
        with self._lock:
            if self.led or self.closed:
                return
            self.led = True
        try:
            data = self._socket.recv(_RECEIVE_BYTES_MORE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            data = None
        except OSError as problem:
            self._reason = self._reason or str(problem)
            data = b""
        if data is not None:
            self._take(data)
        self._hand_over()

    def idle_bytes(self) -> int:
        """Bytes of an unfinished frame that wait here."""
        return self._decoder.unread_bytes

    @property
    def busy(self) -> bool:
        """Whether calls are under way."""
        return bool(self._waiting)

    def _check_open(self) -> None:
        if self.closed:
            raise ConnectionLost(f"connection to {self.address} is closed: {self._reason}; nothing was sent")

    def _send(self, head: bytes, body: Body, deadline: float) -> None:
        data = b"".join((head, body)) if len(body) else head
        remaining = max(0.0, deadline - self._hub.clock.monotonic())
        if not self._send_lock.acquire(timeout=remaining):
            raise TooMuchInFlight(f"{self.address} does not read; nothing was sent")
        try:
            try:
                sent = self._socket.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                sent = 0
            if sent < len(data):
                self._send_rest(memoryview(data), sent, deadline)
            self.last_used = self._hub.clock.monotonic()
        except OSError as problem:
            self._reason = self._reason or str(problem)
            raise ConnectionLost(f"connection to {self.address}: {self._reason}") from problem
        finally:
            self._send_lock.release()

    def _send_rest(self, data: memoryview, sent: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        while sent < len(data):
            remaining = deadline - self._hub.clock.monotonic()
            if remaining > 0:
                poll.poll(min(remaining, _FOLLOWER_SECONDS) * 1000)
            elif sent == 0:
                raise TooMuchInFlight(f"{self.address} does not read; nothing was sent")
            else:
                # Part of a frame is out: nothing that follows could be understood.
                self._reason = "it did not read a whole request in time"
                self._shutdown()
                raise ConnectionLost(f"connection to {self.address} closed: {self._reason}")
            try:
                sent += self._socket.send(data[sent:], socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue

    def _wait(self, slot: _Slot, deadline: float) -> None:
        """Lead or follow until `slot` is filled or its time is over."""
        clock = self._hub.clock
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
        clock = self._hub.clock
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
                self._reason = self._reason or str(problem)
                data = b""
            self._take(data)

    def _leave(self, opaque: int, slot: _Slot) -> None:
        """Forget a call that got no answer; if it was just given the lead, pass that on."""
        with self._lock:
            self._waiting.pop(opaque, None)
            promoted, slot.promoted = slot.promoted, False
        if promoted:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the lead to a thread that sleeps, if there is one."""
        with self._lock:
            if not self.closed and not self._pass_on():
                self.led = False
        if self.closed:
            self._end()

    def _pass_on(self) -> bool:
        for slot in self._waiting.values():
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
        decoder = self._decoder
        decoder.receive(data)
        try:
            while (frame := decoder.next_frame()) is not None:
                self.last_used = self._hub.clock.monotonic()
                if frame.flag & FLAG_RESPONSE:
                    with self._lock:
                        slot = self._waiting.pop(frame.opaque, None)
                        if slot is not None:
                            slot.answer = frame
                            if slot.wake is not None:
                                slot.wake.release()
                else:
                    self._hub.serve(self, frame)
        except FrameError as problem:
            log.warning("malformed frame", peer=self.address, problem=str(problem))
            self._reason = f"malformed frame: {problem}"
            self._end()

    def _shutdown(self) -> None:
        with contextlib.suppress(OSError):  # the other side was faster
            self._socket.shutdown(socket.SHUT_RDWR)

    def _end(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = self.closed = True
            self._reason = self._reason or closed_reason(self._decoder)
            waiting, self._waiting = self._waiting, {}
            for slot in waiting.values():
                slot.problem = ConnectionLost(
                    f"connection to {self.address} closed during a call: {self._reason}"
                )
                if slot.wake is not None and not slot.promoted:
                    slot.wake.release()
        self._shutdown()
        with self._send_lock:
            self._socket.close()
        self._hub.closed(self)
