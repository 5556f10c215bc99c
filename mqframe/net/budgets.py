"""What all connections of a server may take together: their number, half frames, unread answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol

from mqframe.core.clock import Clock
from mqframe.core.measuring.budget import Shares, counters
from mqframe.core.requests.peer import Peer
from mqframe.log import get_logger
from mqframe.net.heap import WORTH_BYTES
from mqframe.net.settings import NetSettings
from mqframe.trouble import Trouble

log = get_logger("net")

IDLE_SECONDS: Final = 60.0
"""A connection that carried nothing for so long may be closed for a new one. Clients talk every 30 s."""
LOOK_SECONDS: Final = 1.0
"""So often at most all connections are looked at for idle ones."""


class OpenPeer(Peer, Protocol):
    """A connection that can be closed for being idle. `last_used`: monotonic seconds."""

    @property
    def last_used(self) -> float:
        """When a whole frame came or something was sent."""

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to leave."""

    def shed(self, reason: str) -> None:
        """Close at once for `reason`: all connections together take too much."""

    def abort(self) -> None:
        """Close at once, without sending what is unsent."""

    def close_if_idle(self, now: float) -> None:
        """Close when nothing passed for too long, or when the other side does not read."""


class ConnectionBudgets:
    """Counts what the connections of a server take, and says which have to go.

    `connections_max`: as many as there may be, at most `net.connections_max`.
    `half_frames`: bytes of frames under way; `answers`: bytes that wait to leave; `arriving`: connections
    that are not among the peers yet; `refused`: connections for which there was no room; `troubles`: what is
    told in the log: of refused connections, of those that took too much, and what others add.
    """

    def __init__(self, settings: NetSettings, clock: Clock) -> None:
        self._settings = settings
        self.connections_max = settings.connections_max
        self._clock = clock
        self._idle: list[OpenPeer] = []
        self._looked = float("-inf")
        self.troubles = [Trouble(log, clock.monotonic), Trouble(log, clock.monotonic)]
        self.half_frames: Shares[OpenPeer] = Shares(settings.half_frames_bytes_max)
        self.answers: Shares[OpenPeer] = Shares(settings.answers_bytes_max, lambda peer: peer.unsent_bytes)
        self.arriving: Collection[object] = ()
        self.refused = 0
        self.made_room = 0

    def is_full(self, peers: dict[OpenPeer, None]) -> bool:
        """Whether `peers` are as many as may be, and none of them may go for another one."""
        if len(peers) + len(self.arriving) < self.connections_max or self._make_room(peers):
            return False
        self.refused += 1
        by_files = self.connections_max < self._settings.connections_max
        setting = "ulimit -n, LimitNOFILE=" if by_files else "net.connections_max"
        self.troubles[0].note("connections refused", most=self.connections_max, setting=setting)
        return True

    def half_frame(self, peer: OpenPeer, size: int) -> None:
        """Of a frame of `peer`, `size` bytes came, and the rest did not."""
        for each in self.half_frames.take(peer, size):
            self._shed(each, "frames that have not wholly arrived take too much (net.half_frames_bytes_max)")

    def unsent(self, peer: OpenPeer, size: int) -> None:
        """`size` bytes for `peer` wait to leave."""
        for each in self.answers.take(peer, size):
            self._shed(each, "answers that nobody reads take too much (net.answers_bytes_max)")

    def _shed(self, peer: OpenPeer, reason: str) -> None:
        self.troubles[1].note("connections closed", kind=reason, reason=reason, peer=peer.address)
        peer.shed(reason)

    def freed_much(self) -> bool:
        """Whether connections took far more, at some time since this was so last, than they take now."""
        shares = self.half_frames, self.answers
        if sum(each.most - each.used for each in shares) < WORTH_BYTES:
            return False
        for each in shares:
            each.most = each.used
        return True

    def counters(self, peers: dict[OpenPeer, None], held_bytes: int) -> dict[str, str]:
        """What operators are shown."""
        settings, half, answers = self._settings, self.half_frames, self.answers
        used = len(peers) + len(self.arriving)
        return {
            **counters("connections", used, self.connections_max, self.refused),
            "budget.connections.closedIdle": str(self.made_room),
            **counters("half frames", half.used, half.limit, half.shed),
            **counters("answers", answers.used, answers.limit, answers.shed),
            **counters("held bytes", held_bytes, settings.held_bytes_max, 0),
        }

    def tell(self, *, last: bool = False) -> None:
        """Say how many were refused, or closed, since that was said; a line a minute, and a `last`."""
        for trouble in self.troubles:
            trouble.tell(last=last)

    def _make_room(self, peers: dict[OpenPeer, None]) -> bool:
        """Close the connection that was idle the longest; whether there was one."""
        now = self._clock.monotonic()
        if not self._idle and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            idle = [peer for peer in peers if now - peer.last_used >= IDLE_SECONDS]
            self._idle = sorted(idle, key=lambda peer: peer.last_used, reverse=True)
        while self._idle:
            peer = self._idle.pop()
            if peer in peers and now - peer.last_used >= IDLE_SECONDS:
                del peers[peer]
                peer.close("idle, and others want to connect (net.connections_max)")
                self.made_room += 1
                return True
        return False
