"""Quotas as they travel and are saved."""

from __future__ import annotations

from mqframe.core.wire.bodies import Body
from mqframe_quotas.rules.limits import COUNTS, Quota


class QuotaTable(Body):
    """The quotas that operators set at a broker."""

    quotas: list[Quota] = []


class QuotaState(Body):
    """A quota in force at a broker.

    `kept`: an operator set it, it does not come from the settings. Since the broker's start, by limit:
    `used`: what passed, `throttled`: how many sends were refused and reads held for it. `in_use`:
    connections and sends in flight at the moment. All are sums over those that the quota is for.
    """

    quota: Quota
    broker: str
    kept: bool
    used: dict[str, int] = {}
    throttled: dict[str, int] = {}
    in_use: dict[str, int] = {}

    def rows(self) -> list[dict[str, str | int | None]]:
        """What people are shown of it, a row for each limit."""
        limits: dict[str, int | None] = {**self.quota.limits} or {"": None}
        return [
            {
                "kind": self.quota.kind,
                "name": self.quota.name,
                "broker": self.broker,
                "limit": limit,
                "most": most,
                "used": (self.in_use if limit in COUNTS else self.used).get(limit, 0),
                "throttled": self.throttled.get(limit, 0),
                "from": "set" if self.kept else "settings",
            }
            for limit, most in limits.items()
        ]


class QuotaStates(Body):
    """The quotas in force at a broker, by kind and name."""

    quotas: list[QuotaState] = []


class QuotaLeft(Body):
    """What one may have at a broker at this moment.

    `quota`: its own or the default of its kind, `None`: there is none; `left`: by limit, what may pass at
    once; what is owed is negative.
    """

    broker: str
    quota: Quota | None = None
    left: dict[str, int] = {}
