"""Who pays what: each user, address, topic and group with a quota has its buckets and its counts here."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mqframe_quotas.rules.gate import Charge, Gate
from mqframe_quotas.rules.limits import COUNTS, EVERYBODY, KINDS, LIMITS, RATES, Quota
from mqframe_quotas.rules.rate_bucket import RateBucket

Key = tuple[str, str]
OTHERS: Final = "(others)"
"""The name of those who share what one may have, once too many pay."""
CONNECT_SECONDS: Final = 1.0
IN_FLIGHT_SECONDS: Final = 0.05
"""When to come again where nobody knows when others will have ended."""
_TIDY_SECONDS: Final = 1.0


class Asker(NamedTuple):
    """Who asks for what; "" where there is none, or nobody knows."""

    user: str = ""
    address: str = ""
    topic: str = ""
    group: str = ""


class Over(NamedTuple):
    """A quota is used up: whose, which limit, how much that is, and in how many seconds to come again."""

    kind: str
    name: str
    limit: str
    most: int
    seconds: float


class Counted:
    """What is counted of one quota, of all that it is for together, since it was made."""

    __slots__ = ("throttled", "used")

    def __init__(self) -> None:
        self.used: dict[str, int] = dict.fromkeys(RATES, 0)
        self.throttled: dict[str, int] = dict.fromkeys(LIMITS, 0)


class Payer:
    """One who has a quota. `connections`: those counted; `in_flight`: sends without an answer yet."""

    __slots__ = ("buckets", "connections", "counted", "in_flight", "key", "quota")

    def __init__(self, key: Key, quota: Quota, burst_seconds: float, counted: Counted, now: float) -> None:
        self.key = key
        self.buckets: dict[str, RateBucket] = {}
        self.connections: set[Hashable] = set()
        self.in_flight = 0
        self.have(quota, burst_seconds, counted, now)

    def have(self, quota: Quota, burst_seconds: float, counted: Counted, now: float) -> None:
        """Have `quota` from now on."""
        self.quota, self.counted = quota, counted
        for limit in RATES:
            rate = quota.limit(limit)
            if not rate:
                self.buckets.pop(limit, None)
                continue
            burst = max(rate * burst_seconds, 1.0)
            if (bucket := self.buckets.get(limit)) is None:
                self.buckets[limit] = RateBucket(rate, burst, now)
            else:
                bucket.change(rate, burst, now)

    def is_idle(self, now: float) -> bool:
        """Whether nothing is known of it that a new one would not know."""
        return not (self.connections or self.in_flight) and all(
            bucket.is_idle(now) for bucket in self.buckets.values()
        )

    def over(self, limit: str, seconds: float) -> Over:
        """`limit` is used up."""
        self.counted.throttled[limit] += 1
        return Over(*self.key, limit, self.quota.limit(limit), seconds)


Reason = tuple[Payer, str]
"""Who pays, and for which limit."""


class Book:
    """The quotas that hold, and all who pay.

    `payers_max`: so many are told apart; those beyond that have the default of their kind share it.
    """

    def __init__(self, payers_max: int) -> None:
        self._payers_max = payers_max
        self._quotas: Mapping[Key, Quota] = {}
        self._burst_seconds = 1.0
        self._payers: dict[Key, Payer] = {}
        self._counted: dict[Key, Counted] = {}
        self._connected: dict[Hashable, list[Payer]] = {}
        self._gate: Gate[Reason] = Gate()
        self._tidied = float("-inf")

    @property
    def stands(self) -> bool:
        """Whether there is any quota."""
        return bool(self._quotas)

    def change(self, quotas: Mapping[Key, Quota], burst_seconds: float, now: float) -> None:
        """Let `quotas` hold from now on; buckets stay as full as they are.

        `burst_seconds`: what flows in within so long may pass at once.
        """
        self._quotas, self._burst_seconds = dict(quotas), burst_seconds
        self._counted = {key: self._counted.get(key, Counted()) for key in quotas}
        for key, payer in tuple(self._payers.items()):
            quota = self.find(*key)
            if quota is None:
                del self._payers[key]
            else:
                payer.have(quota, burst_seconds, self._counted[quota.key], now)

    def find(self, kind: str, name: str) -> Quota | None:
        """The quota of `name`: its own, or else the default of its kind."""
        return self._quotas.get((kind, name)) or self._quotas.get((kind, EVERYBODY))

    def payers(self, asker: Asker, now: float) -> list[Payer]:
        """Who has to pay for what `asker` asks for."""
        return [
            payer
            for kind, name in zip(KINDS, asker, strict=True)
            if name and (payer := self._payer(kind, name, now)) is not None
        ]

    # Sends

    def send(
        self, who: Hashable, payers: Sequence[Payer], size: int, messages: int, now: float
    ) -> Over | None:
        """Let a send of `size` bytes pass, which is paid then and in flight until `sent`; or why it may not.

        `who`: keeps its place among others, when it comes again.
        """
        for payer in payers:
            most = payer.quota.in_flight
            if most and payer.in_flight >= most:
                return payer.over("in_flight", IN_FLIGHT_SECONDS)
        charges = _charges(payers, {"send_bytes": size, "send_messages": messages})
        short = self._gate.enter(who, charges, now) if charges else None
        if short is not None:
            payer, limit = short.why
            return payer.over(limit, short.seconds)
        for payer in payers:
            payer.in_flight += 1
            payer.counted.used["send_bytes"] += size
            payer.counted.used["send_messages"] += messages
        return None

    def sent(self, payers: Sequence[Payer]) -> None:
        """A send that was let pass is answered."""
        for payer in payers:
            payer.in_flight -= 1

    # Reads

    def read(self, who: Hashable, payers: Sequence[Payer], now: float, *, again: bool = False) -> Over | None:
        """Let a read pass, which is paid once it is known what it was given (`paid`); or why it may not.

        `again`: it was counted as held before.
        """
        charges = _charges(payers, {"read_bytes": 1, "read_messages": 1})
        short = self._gate.enter(who, charges, now, pay=False) if charges else None
        if short is None:
            return None
        payer, limit = short.why
        over = payer.over(limit, short.seconds)
        if again:
            payer.counted.throttled[limit] -= 1
        return over

    def gave_up(self, who: Hashable, payers: Sequence[Payer]) -> None:
        """A read that was to wait does so no longer."""
        self._gate.leave(who, _charges(payers, {"read_bytes": 1, "read_messages": 1}))

    def room(self, payers: Sequence[Payer], limit: str, now: float) -> int | None:
        """How much of `limit` a read may be given now, at least 1; `None`: any number."""
        levels = [payer.buckets[limit].level(now) for payer in payers if limit in payer.buckets]
        return max(int(min(levels)), 1) if levels else None

    def paid(self, payers: Sequence[Payer], size: int, messages: int, now: float) -> None:
        """A read was given `messages` of `size` bytes together."""
        amounts = {"read_bytes": size, "read_messages": messages}
        for bucket, amount, _ in _charges(payers, amounts):
            bucket.take(amount, now)
        for payer in payers:
            for limit, amount in amounts.items():
                payer.counted.used[limit] += amount

    # Connections

    def connect(self, peer: Hashable, payers: Sequence[Payer]) -> Over | None:
        """Count a connection where it is limited; or why there is one too many. Any number of times."""
        new = [payer for payer in payers if payer.quota.connections and peer not in payer.connections]
        for payer in new:
            if len(payer.connections) >= payer.quota.connections:
                return payer.over("connections", CONNECT_SECONDS)
        for payer in new:
            payer.connections.add(peer)
            self._connected.setdefault(peer, []).append(payer)
        return None

    def disconnected(self, peer: Hashable) -> None:
        """A connection is closed."""
        for payer in self._connected.pop(peer, ()):
            payer.connections.discard(peer)

    # What is shown

    def counted(self) -> Iterator[tuple[Quota, Counted, dict[str, int]]]:
        """Each quota, what was counted of it, and the counts in use now, of all that it is for together."""
        in_use: dict[Key, dict[str, int]] = {key: dict.fromkeys(COUNTS, 0) for key in self._quotas}
        for payer in self._payers.values():
            found = in_use[payer.quota.key]
            found["connections"] += len(payer.connections)
            found["in_flight"] += payer.in_flight
        for key, quota in sorted(self._quotas.items()):
            yield quota, self._counted[key], in_use[key]

    def left(self, kind: str, name: str, now: float) -> dict[str, int]:
        """How much one may have at once at this moment, by limit; what is owed is negative."""
        quota = self.find(kind, name)
        payer = self._payers.get((kind, name))
        if quota is None:
            return {}
        if payer is None:
            payer = Payer((kind, name), quota, self._burst_seconds, Counted(), now)
        found = {limit: int(bucket.level(now)) for limit, bucket in payer.buckets.items()}
        for limit, used in (("connections", len(payer.connections)), ("in_flight", payer.in_flight)):
            if quota.limit(limit):
                found[limit] = quota.limit(limit) - used
        return found

    def _payer(self, kind: str, name: str, now: float) -> Payer | None:
        found = self._payers.get((kind, name))
        if found is not None:
            return found
        quota = self.find(kind, name)
        if quota is None:
            return None
        if quota.name == EVERYBODY and len(self._payers) >= self._payers_max:
            self._tidy(now)
            if len(self._payers) >= self._payers_max and name != OTHERS:
                return self._payers.get((kind, OTHERS)) or self._made(kind, OTHERS, quota, now)
        return self._made(kind, name, quota, now)

    def _made(self, kind: str, name: str, quota: Quota, now: float) -> Payer:
        counted = self._counted[quota.key]
        payer = self._payers[kind, name] = Payer((kind, name), quota, self._burst_seconds, counted, now)
        return payer

    def _tidy(self, now: float) -> None:
        """Forget who has not been there for a while."""
        if now >= self._tidied + _TIDY_SECONDS:
            self._tidied = now
            self._payers = {key: payer for key, payer in self._payers.items() if not payer.is_idle(now)}


def _charges(payers: Sequence[Payer], amounts: Mapping[str, int]) -> list[Charge[Reason]]:
    return [
        Charge(payer.buckets[limit], amount, (payer, limit))
        for payer in payers
        for limit, amount in amounts.items()
        if limit in payer.buckets
    ]
