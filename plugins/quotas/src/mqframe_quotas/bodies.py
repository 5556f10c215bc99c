"""Quotas as they travel and are saved."""

from __future__ import annotations

from mqframe.core.wire.bodies import Body
from mqframe_quotas.rules.limits import Quota


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
