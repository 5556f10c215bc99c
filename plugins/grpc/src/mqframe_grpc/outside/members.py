"""What brokers elsewhere know of the door's clients: that its groups have a member, the door's process.

Brokers ask that member about open transactions, and what operators want to know; the door asks one of its
clients in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import CallTimeout, ConnectionLost, MqframeError, Refusal, TooMuchInFlight
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.consumers import HeartBeat, UnregisterClient
from mqframe.core.requests.fields import Request
from mqframe.core.requests.insight import ConsumeMessageDirectly, GetConsumerRunningInfo
from mqframe.core.requests.messages import CheckTransactionState
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.log import get_logger
from mqframe.net.clock import within
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.outside.masters import Masters
from mqframe_grpc.rules.receives import record_in

log = get_logger("grpc")

SILENT_SECONDS: Final = 120.0
"""A client of which nothing was heard for so long is gone, as brokers say by default."""
GROUPS_MAX: Final = 100
"""In one heartbeat, as of Apache's proxies."""
ASKED_SECONDS: Final = 5.0
"""For so long a client is waited for that was asked what an operator wants to know."""


class OutsidePeer:
    """A client as the door's process stands for it. `used`: when it was heard of, monotonic seconds;
    `waiting`: how many of its requests brokers have not answered."""

    def __init__(self, client: DoorClient, members: Members, now: float) -> None:
        self.client = client
        self.used = now
        self.waiting = 0
        self.closed = False
        self.producers: frozenset[str] = frozenset()
        self.consumers: dict[str, dict[str, SubscriptionData]] = {}
        self.consume_type: str | None = None
        self._members = members

    def close(self, reason: str) -> None:
        """The client has gone: it leaves its groups."""
        if not self.closed:
            self.closed = True
            self._members.left(self)
            self.client.closed(reason)


class Members:
    """Tells all masters of the groups that the door's clients are members of, and leaves those without any.

    What is new is told at once, all of it by `beat`. Failures are logged; brokers that were away are told
    when there is a connection again.
    """

    def __init__(self, instance: ClientInstance, masters: Masters) -> None:
        self._instance = instance
        self._masters = masters
        self._clock = instance.clock
        self._peers: dict[OutsidePeer, None] = {}
        self._producers: dict[str, dict[OutsidePeer, None]] = {}
        self._consumers: dict[str, dict[OutsidePeer, None]] = {}
        self._news: dict[tuple[str, bool], None] = {}
        """Groups to be told of, or to be left; with whether they are those of consumers."""
        self._telling: asyncio.Task[None] | None = None
        self._told_all: set[str] = set()
        """Addresses that are being told of everything."""
        instance.remoting.serve(self)
        instance.remoting.on_open = self._opened

    def __len__(self) -> int:
        return len(self._peers)

    # Clients

    def peer_of(self, client: DoorClient) -> OutsidePeer:
        """What stands for `client`, which was heard of just now."""
        peer: OutsidePeer | None = client.peer
        now = self._clock.monotonic()
        if peer is None or peer.closed:
            peer = client.peer = OutsidePeer(client, self, now)
            self._peers[peer] = None
        peer.used = now
        return peer

    def join(self, client: DoorClient, beat: HeartbeatData) -> None:
        """A client is a member of the groups in `beat`, and of no others; `without_sub` says no more of it
        than that it lives."""
        peer = self.peer_of(client)
        consumers = {
            group.group_name: {each.topic: each for each in group.subscription_data_set}
            for group in beat.consumer_data_set
        }
        if beat.without_sub:
            consumers = {group: peer.consumers.get(group, {}) for group in consumers}
        for data in beat.consumer_data_set:
            peer.consume_type = data.consume_type
        producers = frozenset(group.group_name for group in beat.producer_data_set)
        before = {group: _wanted(peer.consumers.get(group, {})) for group in consumers}
        self._leave(peer, peer.producers - producers, set(peer.consumers) - set(consumers))
        for group in producers - peer.producers:
            self._enter(self._producers, group, peer, consuming=False)
        for group, subscriptions in consumers.items():
            known = group in peer.consumers
            if not known or _wanted(subscriptions) != before[group]:
                self._enter(self._consumers, group, peer, consuming=True)
        peer.producers, peer.consumers = producers, consumers

    def _enter(
        self, groups: dict[str, dict[OutsidePeer, None]], group: str, peer: OutsidePeer, *, consuming: bool
    ) -> None:
        groups.setdefault(group, {})[peer] = None
        self._tell(group, consuming=consuming)

    def left(self, peer: OutsidePeer) -> None:
        """A client is a member of nothing any more."""
        self._peers.pop(peer, None)
        self._leave(peer, peer.producers, set(peer.consumers))

    def _leave(self, peer: OutsidePeer, producers: Iterable[str], consumers: Iterable[str]) -> None:
        for groups, names in ((self._producers, producers), (self._consumers, consumers)):
            for name in names:
                members = groups[name]
                members.pop(peer, None)
                if not members:
                    del groups[name]
                    self._tell(name, consuming=groups is self._consumers)

    def look(self) -> None:
        """Let go of clients of which nothing was heard for long."""
        since = self._clock.monotonic() - SILENT_SECONDS
        for peer in [each for each in self._peers if each.used < since and not each.waiting]:
            peer.close(f"nothing was heard of the client for {SILENT_SECONDS:g} s")

    # Brokers

    def _tell(self, group: str, *, consuming: bool) -> None:
        self._news[group, consuming] = None
        if self._telling is None or self._telling.done():
            self._telling = self._instance.spawn(self._tell_news())

    async def _tell_news(self) -> None:
        """One after the other, so that no broker hears of a member before it heard that it left."""
        while self._news:
            news, self._news = self._news, {}
            producers = [group for group, consuming in news if not consuming]
            consumers = [group for group, consuming in news if consuming]
            name = self._instance.client_id
            gone = [UnregisterClient(name, each, None) for each in producers if each not in self._producers]
            gone += [UnregisterClient(name, None, each) for each in consumers if each not in self._consumers]
            for request in gone:
                await self._to_all(request, b"")
            for body in self._bodies(producers, consumers):
                await self._to_all(HeartBeat(), body)

    def _bodies(self, producers: Iterable[str], consumers: Iterable[str]) -> list[bytes]:
        """The heartbeats of those of the groups that have members."""
        made: list[ProducerData | ConsumerData] = [
            ProducerData(group) for group in producers if group in self._producers
        ]
        made += [
            ConsumerData(
                group,
                consume_type=next(reversed(members)).consume_type,
                subscription_data_set=self._subscriptions(group),
            )
            for group in consumers
            if (members := self._consumers.get(group))
        ]
        return [self._body(made[start : start + GROUPS_MAX]) for start in range(0, len(made), GROUPS_MAX)]

    def _body(self, groups: Sequence[ProducerData | ConsumerData]) -> bytes:
        return dumps(
            HeartbeatData(
                self._instance.client_id,
                [each for each in groups if isinstance(each, ConsumerData)],
                producer_data_set=[each for each in groups if isinstance(each, ProducerData)],
            )
        )

    def _subscriptions(self, group: str) -> list[SubscriptionData]:
        """Of each topic what the member wants that told it last."""
        newest: dict[str, SubscriptionData] = {}
        for peer in self._consumers[group]:
            for topic, each in peer.consumers[group].items():
                if topic not in newest or each.sub_version >= newest[topic].sub_version:
                    newest[topic] = each
        return list(newest.values())

    async def beat(self) -> None:
        """Tell all masters of all groups."""
        for groups, consuming in ((self._producers, False), (self._consumers, True)):
            for name in groups:
                self._tell(name, consuming=consuming)
        if self._telling is not None:
            await self._telling

    async def leave(self) -> None:
        """Leave all groups at all masters, with all clients, which go on at another door."""
        for peer in self._peers:
            peer.closed = True
        groups = ((self._producers, False), (self._consumers, True))
        names = [(name, consuming) for each, consuming in groups for name in each]
        for each in (self._peers, self._producers, self._consumers):
            each.clear()
        for name, consuming in names:
            self._tell(name, consuming=consuming)
        if self._telling is not None:
            await self._telling

    def _opened(self, address: str) -> None:
        """A broker forgets a client whose connection ends: it is told at once that the client is there."""
        if address not in self._told_all and address in self._masters.addresses:
            self._told_all.add(address)
            self._instance.spawn(self._tell_one(address))

    async def _tell_one(self, address: str) -> None:
        try:
            for body in self._bodies(list(self._producers), list(self._consumers)):
                await self._send(address, HeartBeat(), body)
        finally:
            self._told_all.discard(address)

    async def _to_all(self, request: Request, body: bytes) -> None:
        await asyncio.gather(*[self._send(address, request, body) for address in self._masters.addresses])

    async def _send(self, address: str, request: Request, body: bytes) -> None:
        outages = self._instance.outages
        try:
            await self._instance.call(address, request, body)
        except MqframeError as problem:
            outages.note("broker was not told of members", address, problem, broker=address)
        else:
            outages.over("broker was not told of members", address)

    # What brokers ask

    @serves(CheckTransactionState)
    def check(self, fields: CheckTransactionState, call: Call) -> Reply:
        """Ask one of the producers about an open transaction."""
        body = bytes(call.frame.body)
        message = record_in(body)
        fields.bname = fields.bname or self._masters.name_at(call.peer.address)
        members = self._producers.get(message.topic, {})
        for peer in tuple(members):
            del members[peer]  # and to the end: the next one is asked the next time
            members[peer] = None
            try:
                peer.client.notified(fields, body)
            except (ConnectionLost, TooMuchInFlight):
                continue
            return Reply()
        log.debug("no producer to be asked about a transaction", topic=message.topic, clients=len(members))
        return Reply()

    @serves(GetConsumerRunningInfo, ConsumeMessageDirectly)
    async def insight(self, fields: GetConsumerRunningInfo | ConsumeMessageDirectly, call: Call) -> Reply:
        """Have one of the consumers answer what an operator asks."""
        group, body = fields.consumer_group, bytes(call.frame.body)
        members = self._consumers.get(group, {})
        peer = next((each for each in members if each.client.stream is not None), None)
        if peer is None:
            raise Refusal(
                ResponseCode.CONSUMER_NOT_ONLINE, f"no client of group {group} can be asked at this door"
            )
        del members[peer]
        members[peer] = None
        try:
            return await within(self._clock, ASKED_SECONDS, peer.client.asked(fields, body))
        except CallTimeout:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"client {peer.client.client_id} did not answer within {ASKED_SECONDS:g} s",
            ) from None


def _wanted(subscriptions: dict[str, SubscriptionData]) -> set[tuple[str, str | None, str | None]]:
    return {(each.topic, each.expression_type, each.sub_string) for each in subscriptions.values()}
