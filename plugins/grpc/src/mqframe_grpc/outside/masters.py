"""Which brokers there are, and at which addresses."""

from __future__ import annotations

from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.route import MASTER_ID
from mqframe.core.cluster.route_bodies import BrokerData, ClusterInfo, TopicRouteData
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.requests.nameserver import GetBrokerClusterInfo
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger

log = get_logger("grpc")

DOUBT_SECONDS: Final = 1.0
"""Name servers are asked again no sooner, however many brokers cannot be reached."""


class Masters:
    """The masters that name servers tell of.

    One that they have forgotten keeps its last address, for it may come back: what clients received of it is
    acknowledged then.
    """

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance
        self._addresses: dict[str, str] = {}
        self._there: dict[str, None] = {}
        self._looked = -DOUBT_SECONDS
        self._refused = False
        self.is_known = False

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are there, sorted."""
        return tuple(sorted(self._there))

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of those that are there, in the order of `names`."""
        return tuple(self._addresses[name] for name in self.names)

    def address(self, name: str) -> str | None:
        """Where the master called `name` is, or was last; `None` for one that was never heard of."""
        return self._addresses.get(name)

    def name_at(self, address: str) -> str:
        """Who is at `address`; "" when nobody is known to be."""
        return next((name for name, each in self._addresses.items() if each == address), "")

    def learn(self, route: TopicRouteData) -> None:
        """A name server told this of a topic just now."""
        for broker in route.broker_datas:
            self._learn(broker)

    def _learn(self, broker: BrokerData) -> None:
        address = broker.broker_addrs.get(MASTER_ID)
        if address:
            self._addresses[broker.broker_name] = address
            self._there[broker.broker_name] = None

    async def look(self) -> None:
        """Ask a name server for all of them. One that cannot be asked changes nothing, and is logged.

        `is_known`: whether one could be, the last time.
        """
        self._looked = self._instance.clock.monotonic()
        try:
            answer = await self._instance.call_nameserver(GetBrokerClusterInfo())
            info = decode(memoryview(answer.body), ClusterInfo)
        except AnswerError as problem:
            # Routes of topics tell of theirs all the same.
            self.is_known = True
            if not self._refused:
                self._refused = True
                log.warning("name server does not tell which brokers there are", reason=str(problem))
            return
        except MqframeError:  # it is logged by the instance
            self.is_known = False
            return
        self.is_known, self._refused = True, False
        self._there.clear()
        for broker in info.broker_addr_table.values():
            self._learn(broker)

    def doubt(self) -> None:
        """Look again soon: one of them could not be reached."""
        if self._instance.clock.monotonic() - self._looked >= DOUBT_SECONDS:
            self._looked = self._instance.clock.monotonic()
            self._instance.spawn(self.look())
