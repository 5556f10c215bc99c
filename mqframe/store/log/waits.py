"""Those who wait until what they stored is confirmed, by the disk and by copies of the log (store.md §4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from mqframe.core.clock import Clock
from mqframe.core.storage.outcome import Outcome
from mqframe.log import get_logger
from mqframe.store.log.log_offsets import LogOffsets

T = TypeVar("T")
log: Final = get_logger("store")


class _Waiter(NamedTuple):
    end: int
    since: float
    callback: Callable[[Outcome], object]


class Waits:
    """Who waits for the confirmed offset, oldest first. `disk_seconds`: how long for the disk.

    Each is called once, with what became of it.
    """

    def __init__(self, clock: Clock, confirmation: LogOffsets, disk_seconds: float) -> None:
        self._clock = clock
        self._confirmation = confirmation
        self._replicas = replicas = confirmation.replicas
        self._disk_seconds = disk_seconds
        copies_seconds = disk_seconds if replicas is None else replicas.timeout_seconds
        self._least_seconds = min(disk_seconds, copies_seconds)
        self._waiters: deque[_Waiter] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiters)

    def add(self, end: int, callback: Callable[[Outcome], object]) -> bool:
        """Have `callback` called when log offset `end` is confirmed; whether it has to wait."""
        if end <= self._confirmation.confirmed():
            callback(Outcome.CONFIRMED)
        elif self._is_hopeless(end):
            callback(self._refused(end))
        else:
            self._waiters.append(_Waiter(end, self._clock.monotonic(), callback))
            return True
        return False

    def settle(self) -> None:
        """Call back those who wait for what is confirmed now, and all whom copies keep from it for good."""
        confirmed, waiters = self._confirmation.confirmed(), self._waiters
        while waiters and waiters[0].end <= confirmed:
            tell(waiters.popleft().callback, Outcome.CONFIRMED)
        if waiters and self._replicas is not None and self._replicas.refusal() is not None:
            self._tell_all(self._is_hopeless, self._refused)

    def expire(self) -> None:
        """Call back those who have waited too long."""
        now, waiters = self._clock.monotonic(), self._waiters
        stay: list[_Waiter] = []
        while waiters and now - waiters[0].since >= self._least_seconds:
            waiter = waiters.popleft()
            outcome = self._late(waiter, now - waiter.since)
            if outcome is None:
                stay.append(waiter)
            else:
                tell(waiter.callback, outcome)
        waiters.extendleft(reversed(stay))

    def _late(self, waiter: _Waiter, waited: float) -> Outcome | None:
        replicas = self._replicas
        if replicas is not None and waited >= replicas.timeout_seconds and not self._is_copied(waiter.end):
            return Outcome.NOT_COPIED
        return Outcome.NOT_ON_DISK if waited >= self._disk_seconds else None

    def give_up(self) -> None:
        """Call all who wait back: the store stops, or the disk has failed."""
        self._tell_all(lambda end: True, lambda end: Outcome.NOT_ON_DISK)

    def give_up_copies(self) -> None:
        """Call those back who wait for copies: these are not fed any more."""
        self._tell_all(lambda end: not self._is_copied(end), lambda end: Outcome.NOT_COPIED)

    def _tell_all(self, chosen: Callable[[int], bool], outcome: Callable[[int], Outcome]) -> None:
        waiters, self._waiters = self._waiters, deque()
        stay: list[_Waiter] = []
        for waiter in waiters:
            if chosen(waiter.end):
                tell(waiter.callback, outcome(waiter.end))
            else:
                stay.append(waiter)
        self._waiters.extendleft(reversed(stay))

    def _is_copied(self, end: int) -> bool:
        return self._replicas is None or end <= self._replicas.confirmed(self._confirmation.max_offset)

    def _is_hopeless(self, end: int) -> bool:
        refusal = None if self._replicas is None else self._replicas.refusal()
        return refusal is not None and refusal.ends_waits and not self._is_copied(end)

    def _refused(self, end: int) -> Outcome:
        return (self._replicas and self._replicas.trouble(end)) or Outcome.NOT_COPIED


def tell(callback: Callable[[T], object], what: T) -> None:
    """Call `callback` with `what`; it is told in the log when that fails."""
    try:
        callback(what)
    except Exception:
        log.exception("one who waited for a flush could not be told")  # the others wait for it, too
