"""A bucket of tokens: so many a second flow in, up to so many lie in it, each message takes one; no clock."""

from __future__ import annotations

from threading import Lock


class TokenBucket:
    """`rate` tokens a second, at most `burst`; full at first. Any thread may call it.

    Who takes more than there are owes the rest, and waits until that has flowed in; others wait behind it. So
    in any time `t` no more than `burst` + `rate` * `t` messages begin; where one call takes more than that,
    its number counts in place of that. Times are monotonic seconds.
    """

    __slots__ = ("_burst", "_lock", "_rate", "_since", "_tokens")

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._since: float | None = None
        self._lock = Lock()

    def take(self, count: int, now: float) -> float:
        """Take `count` tokens; seconds until they are there."""
        with self._lock:
            passed = 0.0 if self._since is None else max(0.0, now - self._since)
            self._since = now if self._since is None else max(now, self._since)
            self._tokens = min(self._burst, self._tokens + passed * self._rate) - count
            return max(0.0, -self._tokens / self._rate)
