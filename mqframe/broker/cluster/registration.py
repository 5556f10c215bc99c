"""Registration with the name servers: at the start, on changes, every 30 s, at the end (wire.md §3.4).

Source: BrokerOuterAPI.java.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

import msgspec

from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.long_bodies import body_parts
from mqframe.core.cluster.route_bodies import MemberGroupBody
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfigTable
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.errors import BodyError, CallTimeout, MqframeError, answer_error
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetBrokerMemberGroup, RegisterBroker, UnregisterBroker
from mqframe.core.retry.backoff import Pauses
from mqframe.core.wire.bodies import DataVersion, KVTable
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.net.clock import Every, LoopClock, within
from mqframe.trouble import Troubles

log = get_logger("broker")

ANNOUNCED_SECONDS_MAX: Final = 1.0
"""For so long the answer to a change waits for name servers: well below what callers wait for it (3 s)."""
LISTED_SECONDS: Final = 2.0
"""How often one that took an id over from another looks whether it is listed: nobody finds it before."""
_EMPTY: Final = TopicConfigTable(
    mapping_data_version=DataVersion(), topic_queue_mapping_detail_map={}, topic_queue_mapping_info_map={}
)


class MasterPlace(NamedTuple):
    """Where a master serves requests, and where its log is copied; each "host:port", or empty."""

    address: str
    replication_address: str


class NameServerRegistration:
    """Registers the broker `identity` with every name server.

    One that is away is logged, and tried again.
    """

    def __init__(
        self, client: Client, clock: LoopClock, live: LiveSettings, identity: Identity, topics: TopicTable
    ) -> None:
        self._client = client
        self._clock = clock
        self._live = live
        self.identity = identity
        self._topics = topics
        self._unreachable = Troubles(log, clock.monotonic)
        self._speechless = Troubles(log, clock.monotonic)
        self._ignored = Troubles(log, clock.monotonic, level=logging.ERROR)
        self._known_at: set[str] = set()
        self._asked: set[str] = set()
        self._masters: dict[str, MasterPlace] = {}
        self._holders: dict[str, str] = {}
        self._announced = -1
        self._task: asyncio.Task[None] | None = None
        self._returns: dict[str, asyncio.Task[None]] = {}
        self._timer: Every | None = None
        self._looks: Every | None = None

    @property
    def master(self) -> MasterPlace | None:
        """Where the master of this broker is, by the first name server that knows; `None`: none does."""
        for server in self._live.current.nameservers:
            place = self._masters.get(server)
            if place is not None and place.address:
                return place
        return None

    @property
    def holders(self) -> dict[str, str]:
        """Who keeps the id of this broker, "host:port", by name server, where this broker's registration was
        ignored: a broker with a greater state version."""
        return dict(self._holders)

    @property
    def is_current(self) -> bool:
        """Whether the topics are now as they were announced last."""
        return self._announced == self._topics.changes

    @property
    def is_known(self) -> bool:
        """Whether a name server took the last registration, or there is none to register at."""
        return bool(self._known_at) or not self._live.current.nameservers

    async def start(self) -> None:
        """Register everywhere, then again on a timer. Name servers that do not answer do not stop it."""
        await self.announce()
        seconds = self._live.current.register_interval_ms / 1000
        self._timer = Every(self._clock, seconds, self.announce, name="registration")
        if self.identity.state_version and not self.identity.broker_id:
            self._looks = Every(self._clock, LISTED_SECONDS, self._announce_where_missing, name="listing")

    def topics_changed(self) -> None:
        """Announce soon what changed; changes that come until then go along."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._announce_until_current())

    async def announced(self) -> list[str]:
        """Wait until the name servers that answer know the topics as they are now, a second at most.

        The addresses of those that do not know them yet: they take longer, or were not reached, and learn
        them later.
        """
        if not self.is_current:
            self.topics_changed()
        if self._task is not None:
            try:
                await within(self._clock, ANNOUNCED_SECONDS_MAX, asyncio.shield(self._task))
            except CallTimeout:
                late = sorted(self._asked)
                log.warning("name servers do not know the latest topics yet", nameservers=late)
        away = {server for server in self._live.current.nameservers if server in self._unreachable}
        return sorted(self._asked | away)

    async def announce(self) -> None:
        """Announce all topics to all name servers now."""
        self._topics.take_changed()
        self._announced = self._topics.changes
        await self._register_at(self._live.current.nameservers, self._topics.dump())

    def connection_closed(self, address: str) -> None:
        """The connection to a server ended: a name server that restarts knows nobody, and is told at once."""
        if self._timer is not None and address in self._live.current.nameservers:
            task = self._returns.get(address)
            if task is None or task.done():
                self._returns[address] = asyncio.ensure_future(self._return_to(address))

    async def _return_to(self, server: str) -> None:
        """Register at `server` as soon as it is there, or until the timer's next turn."""
        pauses = Pauses(random.random)
        until = self._clock.monotonic() + self._live.current.register_interval_ms / 1000
        while (pause := pauses.next_pause(until - self._clock.monotonic())) is not None:
            await self._clock.sleep(pause)
            if await self._register(server, await self._body(self._topics.dump())):
                return

    async def _announce_where_missing(self) -> None:
        """Announce all topics to name servers that list nobody, or a broker of before, in place of this one.

        A registration may get no answer, or be overtaken by one of before this broker changed its role.
        """
        servers = [each for each in self._live.current.nameservers if each not in self._holders]
        listed = await asyncio.gather(*map(self._listed, servers))
        missing = [
            server
            for server, address in zip(servers, listed, strict=True)
            if address not in (None, self.identity.address)
        ]
        if missing:
            log.warning("name servers do not list this broker; it registers again", nameservers=missing)
            await self._register_at(missing, self._topics.dump())

    async def find_master(self) -> MasterPlace | None:
        """Ask all name servers where the master of this slave is; `None`: none knows.

        What slaves say of topics does not count, so none are said.
        """
        none = TopicConfigTable(data_version=self._topics.version)
        await self._register_at(self._live.current.nameservers, none)
        return self.master

    async def _announce_changes(self) -> None:
        # With many topics most of a full registration would be what the name servers know already.
        self._announced = self._topics.changes
        body = await self._body(self._topics.take_changed())
        await asyncio.gather(*(self._send_changes(server, body) for server in self._live.current.nameservers))

    async def _send_changes(self, server: str, body: bytes) -> None:
        # A name server that was started anew does not know this broker yet, and may refuse a single topic.
        if server in self._unreachable or not await self._register(server, body):
            await self._register(server, await self._body(self._topics.dump()))

    async def _register_at(self, servers: Sequence[str], table: TopicConfigTable) -> None:
        body = await self._body(table)
        await asyncio.gather(*(self._register(server, body) for server in servers))

    async def _register(self, server: str, body: bytes) -> bool:
        request = RegisterBroker(
            broker_name=self.identity.name,
            broker_addr=self.identity.address,
            cluster_name=self.identity.cluster,
            ha_server_addr=self.identity.replication_address,
            broker_id=self.identity.broker_id,
            body_crc32=crc32(body) & 0x7FFFFFFF,
        )
        answer = await self._send(server, request, body)
        (self._known_at.discard if answer is None else self._known_at.add)(server)
        if answer is not None and self.identity.broker_id:
            ext = answer.ext or {}
            self._masters[server] = MasterPlace(ext.get("masterAddr", ""), ext.get("haServerAddr", ""))
        if answer is not None and answer.body:
            self._mark_ordered(server, bytes(answer.body))
        if answer is not None:
            self._note_holder(server, await self._holder(server, answer))
        return answer is not None

    async def _holder(self, server: str, answer: Frame) -> str:
        """Who keeps the id of this broker, after `answer` to its registration; itself, mostly."""
        identity = self.identity
        told = (answer.ext or {}).get("mqframeHolder")
        if told or not identity.state_version:
            return told or identity.address
        # Name servers of Apache RocketMQ ignore a registration without a word.
        return await self._listed(server) or identity.address

    async def _listed(self, server: str) -> str | None:
        """Who is listed under the id of this broker at `server`, "host:port", or empty; `None`: no answer."""
        identity = self.identity
        asked = GetBrokerMemberGroup(identity.cluster, identity.name)
        timeout = self._live.current.register_timeout_ms / 1000
        try:
            members = await self._client.invoke(server, asked, timeout=timeout)
            if members.code:
                raise answer_error(members.code, members.remark, server)
            group = decode(bytes(members.body), MemberGroupBody).broker_member_group
        except MqframeError as problem:
            log.debug("name server does not say who holds an id", nameserver=server, problem=str(problem))
            return None
        return group.broker_addrs.get(identity.broker_id, "")

    def _note_holder(self, server: str, holder: str) -> None:
        if holder == self.identity.address:
            self._holders.pop(server, None)
            self._ignored.over(server, "a name server takes this broker", nameserver=server)
            return
        self._holders[server] = holder
        self._ignored.of(server).note(
            "a name server ignores this broker: another one, of a later change of roles, has its id",
            kind=holder, nameserver=server, holder=holder, state_version=self.identity.state_version,
        )  # fmt: skip

    def _mark_ordered(self, server: str, body: bytes) -> None:
        """Topics that the name server holds a queue list of are ordered (updateOrderTopicConfig)."""
        try:
            ordered = decode(body, KVTable).table
        except BodyError as problem:
            log.warning("name server's list of ordered topics", nameserver=server, problem=str(problem))
            return
        for name in ordered:
            topic = self._topics.find(name)
            if topic is not None and not topic.order:
                self._topics.ensure(name, topic.read_queue_nums, order=True)

    async def ask(self, request: Request) -> Frame | None:
        """What the first name server that answers says; `None` when none does."""
        timeout = self._live.current.register_timeout_ms / 1000
        for server in self._live.current.nameservers:
            try:
                answer = await self._client.invoke(server, request, timeout=timeout)
            except MqframeError as problem:
                self._speechless.of(server).note(
                    "name server did not answer", nameserver=server, problem=str(problem)
                )
            else:
                self._speechless.over(server, "name server answers again", nameserver=server)
                return answer
        return None

    async def stop(self) -> None:
        """Stop the timer and leave everywhere."""
        self.cancel()
        self._known_at.clear()
        if self._announced < 0:
            return  # not announced: the address may be that of another broker, which is why the start failed
        request = UnregisterBroker(
            broker_name=self.identity.name,
            broker_addr=self.identity.address,
            cluster_name=self.identity.cluster,
            broker_id=self.identity.broker_id,
        )
        await asyncio.gather(*(self._send(server, request, b"") for server in self._live.current.nameservers))

    def cancel(self) -> None:
        """Announce nothing further, without leaving."""
        for timer in (self._timer, self._looks):
            if timer is not None:
                timer.stop()
        self._timer = None
        for task in (self._task, *self._returns.values()):
            if task is not None:
                task.cancel()

    async def _announce_until_current(self) -> None:
        while not self.is_current:
            await self._announce_changes()

    async def _send(
        self, server: str, request: RegisterBroker | UnregisterBroker, body: bytes
    ) -> Frame | None:
        """The answer, `None` when there was none that says success."""
        timeout = self._live.current.register_timeout_ms / 1000
        self._asked.add(server)
        try:
            answer = await self._client.invoke(server, request, body, timeout=timeout)
            if answer.code:
                raise answer_error(answer.code, answer.remark, server)
        except MqframeError as problem:
            self._unreachable.of(server).note(
                "name server was not reached", nameserver=server, problem=str(problem)
            )
            return None
        finally:
            self._asked.discard(server)
        self._unreachable.over(server, "name server is back", nameserver=server)
        return answer

    async def _body(self, table: TopicConfigTable) -> bytes:
        allowed = self._live.current.permission
        topics = table.topic_config_table
        if allowed != PERM_READ | PERM_WRITE:
            topics = {
                name: msgspec.structs.replace(topic, perm=topic.perm & allowed)
                for name, topic in topics.items()
            }
        empty = RegisterBrokerBody(topic_config_serialize_wrapper=_EMPTY)
        version = msgspec.structs.replace(table.data_version, state_version=self.identity.state_version)
        wrapper = msgspec.structs.replace(_EMPTY, data_version=version, topic_config_table=topics)
        before, _, behind = dumps(empty).partition(dumps(_EMPTY))
        return b"".join([before, *await body_parts(wrapper), behind])
