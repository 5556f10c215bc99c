"""The table of states: which keys are in progress, whose, until when, and which are done."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from mqframe_idempotence.stores import Claim


class _Held(NamedTuple):
    token: str
    until_ms: float


class StateTable:
    """States of keys, in memory. Not for several threads at once.

    ============  ==================  =====================================================
    state         by                  next
    ============  ==================  =====================================================
    unknown       `claim`             in progress, of the one who claimed, until its lease is over
    in progress   `renew`             in progress, for another lease
    in progress   `release`           unknown
    in progress   its lease is over   unknown
    in progress   `finish`            done, for `keep_ms`
    unknown       `finish`            done: the lease was over, but nobody else has begun
    done          its time is over    unknown
    ============  ==================  =====================================================

    `now_ms`: the time, milliseconds; `lease_ms`: `None`: no lease is ever over; `done_max`: so many keys are
    remembered as done at most, the oldest go first.
    """

    def __init__(
        self, now_ms: Callable[[], float], lease_ms: float | None, keep_ms: float, done_max: int
    ) -> None:
        self._now_ms = now_ms
        self._lease_ms = float("inf") if lease_ms is None else lease_ms
        self._keep_ms = keep_ms
        self._done_max = done_max
        self._held: dict[str, _Held] = {}
        self._done: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held) + len(self._done)

    def claim(self, key: str, token: str) -> Claim:
        """Claim `key` for the holder `token`."""
        now = self._now_ms()
        self._expire(now)
        if key in self._done:
            return Claim.DONE
        held = self._held.get(key)
        if held is not None and now < held.until_ms:
            return Claim.BUSY
        self._held[key] = _Held(token, now + self._lease_ms)
        return Claim.NEW

    def renew(self, key: str, token: str) -> bool:
        """Another lease from now on; `False` where `token` does not hold `key` any more."""
        now = self._now_ms()
        held = self._held.get(key)
        if held is None or held.token != token or now >= held.until_ms:
            return False
        self._held[key] = _Held(token, now + self._lease_ms)
        return True

    def release(self, key: str, token: str) -> None:
        """`key` may be claimed again, if `token` holds it."""
        held = self._held.get(key)
        if held is not None and held.token == token:
            del self._held[key]

    def finish(self, key: str, token: str) -> bool:
        """`key` is done; `False`: somebody else has claimed or finished it, which stays as it is."""
        now = self._now_ms()
        self._expire(now)
        held = self._held.get(key)
        if key in self._done or (held is not None and held.token != token and now < held.until_ms):
            return False
        self._held.pop(key, None)
        self._done[key] = now + self._keep_ms
        while len(self._done) > self._done_max:
            self._done.popitem(last=False)
        return True

    def _expire(self, now: float) -> None:
        while self._done:
            key, until = next(iter(self._done.items()))
            if now < until:
                return
            del self._done[key]
