"""The thread of a blocking client that reads connections while no caller does."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections import deque
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.wire.frame import Frame
from mqframe.log import get_logger
from mqframe.net.blocking_peer import BlockingPeer
from mqframe.net.settings import NetSettings

log = get_logger("net")

HOT_SECONDS: Final = 0.1
"""A connection used within this time is left to its callers, so that their answers wake nobody else."""

REQUESTS_WAITING_MAX: Final = 1024
"""Requests of other sides that may wait to be served; sound brokers ask a few a minute."""


class IdleReader:
    """Reads idle connections, serves requests of the other side, closes what is idle for too long.

    Handlers run in this thread. A connection is watched only when it was not
    used for `HOT_SECONDS`; the first answer after that wakes this thread once, which then lets go of it.
    """

    def __init__(self, clock: Clock, settings: NetSettings) -> None:
        self._clock = clock
        self._tick = min(1.0, settings.idle_seconds / 8)
        self._selector = selectors.DefaultSelector()
        self._alarm, self._bell = socket.socketpair()
        self._alarm.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._alarm, selectors.EVENT_READ)
        self._new: deque[BlockingPeer] = deque()
        self._requests: deque[tuple[BlockingPeer, Frame]] = deque()
        self._requests_max = min(settings.in_flight_requests_max, REQUESTS_WAITING_MAX)
        self._bytes_max = settings.in_flight_bytes_max
        self._requests_bytes = 0
        self._requests_lock = threading.Lock()
        self._watched: dict[int, BlockingPeer] = {}
        self._hot: set[BlockingPeer] = set()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="mqframe idle reader", daemon=True)
        self._thread.start()

    def add(self, peer: BlockingPeer) -> None:
        """Look after `peer` until it is closed."""
        self._new.append(peer)
        self._wake()

    def submit(self, peer: BlockingPeer, frame: Frame) -> None:
        """Serve a request of `peer` soon. One that asks more than can be served loses its connection."""
        with self._requests_lock:
            count, size = len(self._requests), self._requests_bytes + len(frame.body)
            full = count >= self._requests_max or (count > 0 and size > self._bytes_max)
            if not full:
                self._requests_bytes = size
                self._requests.append((peer, frame))
        if full:
            peer.close(
                f"{count} requests wait to be served, {size} bytes with the next one; more than allowed"
            )
            return
        if threading.current_thread() is not self._thread:
            self._wake()

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # it is awake already, or gone
            self._bell.send(b"!")

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select(HOT_SECONDS if self._hot else self._tick):
                if key.fileobj is self._alarm:
                    self._drain()
                else:
                    self._readable(key.data)
            while self._requests:
                with self._requests_lock:
                    peer, frame = self._requests.popleft()
                    self._requests_bytes -= len(frame.body)
                self._serve(peer, frame)
            self._look_round()
        self._selector.close()
        self._alarm.close()
        self._bell.close()

    @staticmethod
    def _serve(peer: BlockingPeer, frame: Frame) -> None:
        try:
            peer.serve(frame)
        except Exception:  # one request's fault must not end the reading of all connections
            log.exception("request failed", code=frame.code, peer=peer.address)

    def _drain(self) -> None:
        try:
            while self._alarm.recv(4096):
                pass
        except BlockingIOError:
            pass  # drained

    def _readable(self, peer: BlockingPeer) -> None:
        if peer.closed or peer.led or self._clock.monotonic() - peer.last_used < HOT_SECONDS:
            self._forget(peer)
            self._hot.add(peer)
        else:
            peer.read_waiting()

    def _forget(self, peer: BlockingPeer) -> None:
        if self._watched.pop(peer.descriptor, None) is not None:
            self._selector.unregister(peer.descriptor)

    def _look_round(self) -> None:
        while self._new:
            self._hot.add(self._new.popleft())
        now = self._clock.monotonic()
        # Closed ones first: a new connection may have got the same descriptor.
        for peer in [p for p in self._watched.values() if p.closed]:
            self._forget(peer)
        for peer in tuple(self._hot):
            if peer.closed:
                self._hot.discard(peer)
            elif not peer.led and now - peer.last_used >= HOT_SECONDS:
                self._hot.discard(peer)
                if peer.watch(self._selector):
                    self._watched[peer.descriptor] = peer
        for peer in (*self._watched.values(), *self._hot):
            peer.close_if_idle(now)
