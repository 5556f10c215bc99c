"""Looks at a cluster again and again, for alarms; pages show what was seen last, and wait for nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs
from mqframe_admin.bodies import ConsumerConnection, ConsumeStatsList
from mqframe_admin.rules.lag import group_lags

from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import is_system_group
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_dashboard.alarms.rules import (
    BrokerGone,
    BrokerSeen,
    ClusterAlarm,
    ClusterSeen,
    GroupSeen,
    alarms_of,
    gone_brokers,
)
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import link, time_text

PAUSE_SECONDS: Final = 10.0
"""Between two looks, at least; the more there is to ask, the longer."""
SHARE: Final = 10
"""A look is followed by a rest that is so many times as long."""
REST_SECONDS_MAX: Final = 120.0
GROUPS_MAX: Final = 50
"""Groups whose members are asked for, those that are furthest behind."""
GONE_MS: Final = 3_600_000
"""For so long a broker that is not registered any more is missed."""
BROKERS_MAX: Final = 1000
"""Brokers that are remembered."""
SHOWN: Final = 5
"""Alarms that stand on top of each page."""
KEPT_MAX: Final = 500
"""Alarms that their own page has."""
log = get_logger("dashboard")


@attrs.frozen
class Banner:
    """What stands on top of a page: the first alarms, how many `more` there are, and what is said of them."""

    alarms: Sequence[ClusterAlarm] = ()
    more: int = 0
    note: str = ""


class AlarmWatch:
    """The alarms of a cluster. `samples`: counts dead letters; `interval`: seconds between two looks."""

    def __init__(
        self,
        asking: Asking,
        samples: Samples,
        interval: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asking = asking
        self._samples = samples
        self._interval = interval
        self._clock = clock
        self._took = 0.0
        self._known: dict[str, BrokerGone] = {}
        self.looked_ms: int | None = None
        """When the last look that succeeded was made, ms since 1970."""
        self.alarms: Sequence[ClusterAlarm] = ()
        """What that showed, the severe ones first; at most `KEPT_MAX`."""
        self.problem = ""
        """Why the look after that failed."""

    async def run(self) -> None:
        """Look for as long as it is not cancelled."""
        blind = Trouble(log, self._clock)
        while True:
            try:
                await self.look()
            except MqframeError as problem:
                blind.note("the cluster was not looked at", kind=str(problem), problem=str(problem))
            except Exception:  # isolation boundary: what a broker said made no sense
                log.exception("the cluster was not looked at")
            else:
                blind.over("the cluster is looked at again")
            await asyncio.sleep(max(self._interval, min(REST_SECONDS_MAX, SHARE * self._took)))

    async def look(self) -> None:
        """Look now. Raises as `Asking.ask`."""
        began = self._clock()
        try:
            seen = await cluster_seen(self._asking, self._samples)
            self.alarms = alarms_of(self._with_gone(seen))[:KEPT_MAX]
        except Exception as problem:
            self.problem = str(problem) or repr(problem)
            raise
        self._took = self._clock() - began
        self.looked_ms, self.problem = seen.at_ms, ""

    def _with_gone(self, seen: ClusterSeen) -> ClusterSeen:
        """`seen`, with the brokers that were seen within the last hour and are not there any more."""
        for each in seen.brokers:
            self._known[each.address] = BrokerGone(each.name, each.number, each.address, seen.at_ms)
        for address, known in list(self._known.items()):
            if seen.at_ms - known.seen_ms > GONE_MS or len(self._known) > BROKERS_MAX:
                del self._known[address]
        return attrs.evolve(seen, gone=gone_brokers(self._known.values(), seen.brokers))

    def banner(self) -> Banner:
        """What pages show."""
        if self.problem:
            since = "" if self.looked_ms is None else f" since {time_text(self.looked_ms)}"
            text = f"The cluster could not be looked at{since}: {self.problem}"
            blind = ClusterAlarm(link("alarms", text), severe=True)
            return Banner([blind], len(self.alarms), "What is wrong there now is not known.")
        if self.looked_ms is None:
            return Banner(note="Whether something is wrong is not known yet: the cluster is being looked at.")
        return Banner(self.alarms[:SHOWN], max(0, len(self.alarms) - SHOWN))


async def cluster_seen(asking: Asking, samples: Samples) -> ClusterSeen:
    """What alarms follow from, now. Raises as `Asking.ask` when not even the list of brokers is to be had."""
    admin = asking.admin
    unseen: list[str] = []
    info = await asking.ask(admin.cluster.info)
    brokers = await _brokers(asking, info)
    try:
        replicas = await asking.ask(admin.replicas.list)
    except MqframeError as problem:
        replicas = []
        unseen.append(f"Replication could not be looked at: {problem}")
    lags = await _lags(
        asking, [each.address for each in brokers if each.number == 0 and not each.silent], unseen
    )
    furthest = sorted((group for group in lags if lags[group]), key=lambda group: (-lags[group], group))
    members = await asking.ask_each(admin.members.consumers, furthest[:GROUPS_MAX])
    return ClusterSeen(
        int(asking.now() * 1000),
        brokers,
        replicas,
        [GroupSeen(group, lags[group], _count(found)) for group, found in members.items()],
        samples.new_letters(),
        samples.span.seconds,
        unseen,
    )


async def _brokers(asking: Asking, info: ClusterInfo) -> list[BrokerSeen]:
    members = [
        (name, number, address)
        for name, data in sorted(info.broker_addr_table.items())
        for number, address in sorted(data.broker_addrs.items())
    ]
    counters = await asking.ask_each(asking.admin.brokers.runtime, [address for _, _, address in members])
    return [_broker(name, number, address, counters[address]) for name, number, address in members]


def _broker(name: str, number: int, address: str, told: Mapping[str, str] | MqframeError) -> BrokerSeen:
    if isinstance(told, MqframeError):
        return BrokerSeen(name, number, address, silent=str(told) or repr(told))
    return BrokerSeen(name, number, address, told)


async def _lags(asking: Asking, masters: Sequence[str], unseen: list[str]) -> dict[str, int]:
    """How far each group is behind, by name."""
    lags: dict[str, int] = {}
    for address, found in (await asking.ask_each(asking.admin.brokers.progress, masters)).items():
        if not isinstance(found, ConsumeStatsList):
            unseen.append(f"How far groups are at {address} could not be looked at: {found}")
            continue
        for group, behind in group_lags(found.consume_stats_list).items():
            if not is_system_group(group):
                lags[group] = lags.get(group, 0) + behind
    return lags


def _count(members: ConsumerConnection | MqframeError) -> int | None:
    return None if isinstance(members, MqframeError) else len(members.connection_set)
