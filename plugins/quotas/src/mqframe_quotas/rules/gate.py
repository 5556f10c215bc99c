"""Whether something passes all the buckets that it has to pay to, in the order in which who failed came."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from mqframe_quotas.rules.rate_bucket import RateBucket

P = TypeVar("P")
WAITING_MAX: Final = 10_000
"""Of so many it is known since when they wait."""
PATIENCE_SECONDS: Final = 0.1
PATIENCE_SHARE: Final = 0.1
"""Who was told to come again keeps its place for that time, a share of it longer, and a little."""


class Charge(NamedTuple, Generic[P]):
    """`amount` is to be paid to `bucket`, for `why`."""

    bucket: RateBucket
    amount: float
    why: P


class Short(NamedTuple, Generic[P]):
    """Nothing was paid; there will be enough in `seconds`. `why`: of the charge that lacks it longest."""

    seconds: float
    why: P


class Gate(Generic[P]):
    """Lets pass what can pay all its charges at once, the oldest first.

    Whoever comes again when it was told has its place still, in all lines: nobody that came later can take
    what it waits for. So whoever does that passes, whatever the others do.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, tuple[int, float]] = {}
        self._count = 0

    def enter(
        self, who: Hashable, charges: Sequence[Charge[P]], now: float, *, pay: bool = True
    ) -> Short[P] | None:
        """Pay `charges` and let `who` pass (`None`), or say how long it has to wait.

        `pay`: False for what is known afterwards alone; `RateBucket.take` then takes that.
        """
        age = self._age(who, now)
        short: Short[P] | None = None
        for bucket, amount, why in charges:
            seconds = bucket.wait(who, age, amount, now)
            if seconds and (short is None or seconds > short.seconds):
                short = Short(seconds, why)
        if short is not None:
            until = now + short.seconds * (1 + PATIENCE_SHARE) + PATIENCE_SECONDS
            self._note(who, age, until, now)
            for bucket, amount, _ in charges:
                bucket.stand(who, age, amount, until, now)
            return short
        self.leave(who, charges)
        if pay:
            for bucket, amount, _ in charges:
                bucket.take(amount, now)
        return None

    def leave(self, who: Hashable, charges: Sequence[Charge[P]]) -> None:
        """`who` waits no longer."""
        if self._waiting.pop(who, None) is not None:
            for bucket, _, _ in charges:
                bucket.leave(who)

    def _age(self, who: Hashable, now: float) -> int:
        age, until = self._waiting.get(who, (0, now))
        if until <= now:
            self._count += 1
            age = self._count
        return age

    def _note(self, who: Hashable, age: int, until: float, now: float) -> None:
        if who not in self._waiting and len(self._waiting) >= WAITING_MAX:
            self._waiting = {each: place for each, place in self._waiting.items() if place[1] > now}
            if len(self._waiting) >= WAITING_MAX:
                return
        self._waiting[who] = (age, until)
