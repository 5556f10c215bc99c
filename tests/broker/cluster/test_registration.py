"""Registration with name servers that a test answers for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.cluster.registration import LISTED_SECONDS, MasterPlace, NameServerRegistration
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.identity import Identity
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.route_bodies import MemberGroup, MemberGroupBody
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.nameserver import GetBrokerMemberGroup, RegisterBroker, UnregisterBroker
from mqframe.core.wire.bodies import DataVersion, KVTable
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode, dumps

INTERVAL = 30.0


class NameServers:
    """`seen`: (server, request, topics) of each request; `away`: those that do not answer."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, type, list[str]]] = []
        self.away: set[str] = set()
        self.ordered: dict[str, str] = {}
        self.silent: dict[str, asyncio.Event] = {}
        self.ext: dict[str, str] = {}
        self.members: dict[int, str] = {}
        self.versions: list[DataVersion] = []

    async def invoke(self, server: str, request: Any, body: bytes = b"", *, timeout: float = 3.0) -> Frame:
        if server in self.away:
            raise ConnectionLost(server)
        if server in self.silent:
            await self.silent[server].wait()
        topics: list[str] = []
        if body:
            wrapper = decode(body, RegisterBrokerBody).topic_config_serialize_wrapper
            topics = sorted(wrapper.topic_config_table)
            self.versions.append(wrapper.data_version)
        self.seen.append((server, type(request), topics))
        if isinstance(request, GetBrokerMemberGroup):
            group = MemberGroup(request.broker_name, self.members, request.cluster_name)
            return Frame(0, body=dumps(MemberGroupBody(group)))
        return Frame(0, ext=self.ext, body=dumps(KVTable(table=self.ordered)))

    def take(self) -> list[tuple[str, type, list[str]]]:
        seen, self.seen = self.seen, []
        return sorted(seen, key=lambda each: each[0])


@asynccontextmanager
async def staged() -> AsyncIterator[tuple[NameServers, TopicTable, NameServerRegistration, ManualClock]]:
    clock, servers = ManualClock(), NameServers()
    topics = TopicTable(clock)
    topics.put(TopicConfig(topic_name="t"))
    settings = BrokerSettings(nameservers=("one", "two"), host="127.0.0.1")
    identity = Identity(settings)
    identity.address = "127.0.0.1:10911"
    registration = NameServerRegistration(
        servers,
        clock,
        LiveSettings(settings),
        identity,
        topics,  # type: ignore[arg-type]
    )
    yield (servers, topics, registration, clock)
    registration.cancel()


async def test_all_topics_at_the_start_and_again_and_again() -> None:
    async with staged() as (servers, _topics, registration, clock):
        await registration.start()
        whole = [("one", RegisterBroker, ["t"]), ("two", RegisterBroker, ["t"])]
        assert servers.take() == whole
        await clock.aadvance(INTERVAL - 0.1)
        assert servers.take() == []
        await clock.aadvance(0.1)
        assert servers.take() == whole
        await registration.stop()
        assert servers.take() == [("one", UnregisterBroker, []), ("two", UnregisterBroker, [])]


async def test_a_name_server_whose_connection_ended_is_told_all_as_soon_as_it_is_there() -> None:
    async with staged() as (servers, _topics, registration, clock):
        registration.connection_closed("two")  # before the start nobody is told
        await clock.aadvance(5.0)
        assert servers.take() == []
        await registration.start()
        servers.take()
        servers.away.add("two")
        for server in ("two", "two", "a broker"):
            registration.connection_closed(server)
        await clock.aadvance(1.0)
        assert servers.take() == []
        servers.away.clear()
        await clock.aadvance(1.1)
        assert servers.take() == [("two", RegisterBroker, ["t"])]
        await clock.aadvance(20.0)
        assert servers.take() == []
        await registration.stop()
        registration.connection_closed("two")
        servers.take()
        await clock.aadvance(60.0)
        assert servers.take() == []


async def test_one_that_stays_away_is_looked_for_until_the_next_registration_of_all() -> None:
    async with staged() as (servers, _topics, registration, clock):
        await registration.start()
        servers.away.add("two")
        registration.connection_closed("two")
        await clock.aadvance(INTERVAL * 3)
        assert clock.timers == 1
        servers.away.clear()
        servers.take()
        await clock.aadvance(INTERVAL)
        assert servers.take() == [("one", RegisterBroker, ["t"]), ("two", RegisterBroker, ["t"])]


async def test_a_change_goes_out_alone_but_whole_to_a_server_that_was_away() -> None:
    async with staged() as (servers, topics, registration, _clock):
        servers.away.add("two")
        await registration.start()
        servers.away.clear()
        servers.take()
        topics.put(TopicConfig(topic_name="u"))
        assert not registration.is_current
        await registration.announced()
        assert registration.is_current
        assert servers.take() == [("one", RegisterBroker, ["u"]), ("two", RegisterBroker, ["t", "u"])]
        await registration.announced()
        assert servers.take() == []


async def test_that_a_name_server_is_back_is_as_loud_as_that_it_was_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged() as (servers, _topics, registration, clock):
        servers.away.add("two")
        for _ in range(7):
            await registration.announce()
            clock.advance(30)
        servers.away.clear()
        await registration.announce()
    told = [(each.levelname, each.getMessage()) for each in caplog.records]
    away = "name server was not reached nameserver='two' problem='two'"
    assert told == [
        ("WARNING", away),
        *[("WARNING", away.replace(" nameserver", " count=2 nameserver"))] * 3,
        ("WARNING", "name server is back nameserver='two' after_seconds=210"),
    ]


async def test_topics_that_a_name_server_calls_ordered_are() -> None:
    async with staged() as (servers, topics, registration, _clock):
        servers.ordered = {"t": "broker-a:4", "unknown": "broker-a:4"}
        await registration.announce()
        assert topics.need("t").order
        assert topics.find("unknown") is None


async def test_the_first_name_server_that_answers_is_asked() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        request = UnregisterBroker(broker_name="b", broker_addr="a", cluster_name="c", broker_id=0)
        servers.away.add("one")
        assert (await registration.ask(request)).code == 0
        assert [server for server, _, _ in servers.take()] == ["two"]
        servers.away.add("two")
        assert await registration.ask(request) is None


async def test_a_broker_whose_roles_are_set_by_hand_registers_the_state_version_0() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        await registration.announce()
        assert {version.state_version for version in servers.versions} == {0}
        assert {kind for _, kind, _ in servers.take()} == {RegisterBroker}
        assert registration.holders == {}


async def test_a_broker_notices_that_a_name_server_ignores_it() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        servers.ext = {"mqframeHolder": "10.0.0.9:10911"}
        await registration.announce()
        assert registration.holders == {"one": "10.0.0.9:10911", "two": "10.0.0.9:10911"}
        servers.ext = {}
        await registration.announce()
        assert registration.holders == {}


async def test_with_a_state_version_it_asks_name_servers_that_say_nothing_by_themselves() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        registration.identity.state_version = 3
        servers.members = {0: "10.0.0.9:10911", 1: "127.0.0.1:10911"}
        await registration.announce()
        assert {version.state_version for version in servers.versions} == {3}
        assert registration.holders == {"one": "10.0.0.9:10911", "two": "10.0.0.9:10911"}
        servers.members = {0: "127.0.0.1:10911"}
        await registration.announce()
        assert registration.holders == {}
        servers.members = {}
        await registration.announce()
        assert registration.holders == {}


async def test_one_that_took_an_id_over_registers_again_where_it_is_not_listed() -> None:
    async with staged() as (servers, _topics, registration, clock):
        asked = [("one", GetBrokerMemberGroup, []), ("two", GetBrokerMemberGroup, [])]
        again = [(server, kind, ["t"] if kind is RegisterBroker else []) for server in ("one", "two")
                 for kind in (GetBrokerMemberGroup, RegisterBroker, GetBrokerMemberGroup)]  # fmt: skip
        registration.identity.state_version = 7
        servers.members = {0: "127.0.0.1:10911", 1: "127.0.0.1:10921"}
        await registration.start()
        servers.take()
        await clock.aadvance(LISTED_SECONDS)
        assert servers.take() == asked
        servers.away = {"two"}
        await clock.aadvance(LISTED_SECONDS)
        assert servers.take() == asked[:1]
        servers.away = set()
        for listed in ({1: "127.0.0.1:10911"}, {0: "127.0.0.1:10921"}):
            servers.members = listed
            await clock.aadvance(LISTED_SECONDS)
            assert servers.take() == again
        await clock.aadvance(LISTED_SECONDS)
        assert servers.take() == []  # it was ignored: the other one has the id until it is gone


async def test_a_slave_asks_for_its_master_without_naming_topics() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        registration.identity.broker_id = 1
        await registration.start()
        assert registration.master is None
        servers.take()
        servers.away.add("one")
        servers.ext = {"masterAddr": "10.0.0.9:10911", "haServerAddr": "10.0.0.9:10912"}
        assert await registration.find_master() == MasterPlace("10.0.0.9:10911", "10.0.0.9:10912")
        assert servers.take() == [("two", RegisterBroker, [])]
        servers.ext = {}
        assert await registration.find_master() is None


async def test_who_never_registered_does_not_unregister() -> None:
    async with staged() as (servers, _topics, registration, _clock):
        await registration.stop()
        assert servers.take() == []


async def test_a_broker_is_known_while_one_name_server_takes_its_registrations() -> None:
    async with staged() as (servers, _topics, registration, clock):
        servers.away = {"one", "two"}
        await registration.start()
        assert not registration.is_known
        servers.away = {"two"}
        await clock.aadvance(INTERVAL)
        assert registration.is_known
        servers.away = {"one", "two"}
        await clock.aadvance(INTERVAL)
        assert not registration.is_known
        servers.away = set()
        await clock.aadvance(INTERVAL)
        await registration.stop()
        assert not registration.is_known


async def test_a_change_waits_a_second_at_most_for_a_name_server_that_is_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged() as (servers, topics, registration, clock):
        await registration.announce()
        servers.take()
        servers.silent["two"] = asyncio.Event()
        topics.put(TopicConfig(topic_name="new"))
        waiting = asyncio.ensure_future(registration.announced())
        await clock.aadvance(0.9)
        assert not waiting.done()
        await clock.aadvance(0.2)
        assert await waiting == ["two"]
        assert "name servers do not know the latest topics yet nameservers=['two']" in caplog.text
        assert servers.take() == [("one", RegisterBroker, ["new"])]
        # It was not given up: the one that was silent learns of the topic as soon as it answers.
        servers.silent["two"].set()
        assert await registration.announced() == []
        assert servers.take() == [("two", RegisterBroker, ["new"])]
