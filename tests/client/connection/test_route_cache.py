"""Routes, heartbeats and notices of one client, over a scripted remoting and a manual clock."""

import asyncio

import pytest

from mqframe.client.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.bodies import ConsumerData
from mqframe.core.errors import AnswerError, ConnectError, RouteError
from mqframe.core.requests.consumers import HeartBeat, UnregisterClient
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.testing.manual_clock import ManualClock
from mqframe.testing.scripted_broker import ScriptedBroker


class Consumer:
    def __init__(self):
        self.seen = []

    def consumer_data(self):
        return ConsumerData("cg")

    def on_members_changed(self):
        self.seen.append("members")

    def on_routes_changed(self):
        self.seen.append("routes")


def scene(play, topics=None, **settings):
    async def run():
        clock = ManualClock()
        broker = ScriptedBroker(clock, topics or {"t": 4})
        nameserver = settings.pop("nameserver", broker.nameserver)
        instance = ClientInstance(ClientSettings(nameserver=nameserver, **settings), clock, broker)
        await instance.start()
        try:
            await play(instance, broker, clock)
        finally:
            await instance.stop()

    asyncio.run(run())


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_route_is_asked_for_once_by_all_who_want_it():
    async def play(instance, broker, clock):
        routes = await asyncio.gather(*[instance.route("t") for _ in range(5)])
        assert len({id(route) for route in routes}) == 1
        await instance.route("t")
        assert len(broker.sent(GetRouteinfoByTopic)) == 1
        await instance.route("t", refresh=True)
        assert len(broker.sent(GetRouteinfoByTopic)) == 2

    scene(play)


def test_an_unknown_topic():
    async def play(instance, broker, clock):
        with pytest.raises(RouteError, match="no route to topic nothing"):
            await instance.route("nothing")

    scene(play)


def test_a_new_topic_is_sent_by_the_default_route_until_it_exists():
    async def play(instance, broker, clock):
        route = await instance.routes.publish_route("new", "TBW102", 4)
        assert route.from_default
        assert [queue.queue_id for queue in route.write_queues()] == [0, 1, 2, 3]
        assert {queue.topic for queue in route.write_queues()} == {"new"}
        with pytest.raises(RouteError):
            await instance.route("new")
        broker.topics["new"] = 2
        await clock.aadvance(30)
        route = await instance.routes.publish_route("new", "TBW102", 4)
        assert not route.from_default
        assert len(route.write_queues()) == 2

    scene(play, {"TBW102": 8})


def test_no_topic_and_no_default_topic():
    async def play(instance, broker, clock):
        with pytest.raises(RouteError, match="create it"):
            await instance.routes.publish_route("new", "TBW102", 4)

    scene(play)


def test_routes_are_polled_and_changes_told():
    consumer = Consumer()

    async def play(instance, broker, clock):
        await instance.route("t")
        instance.register_consumer("cg", consumer)
        await settle()
        consumer.seen.clear()
        await clock.aadvance(30)
        assert consumer.seen == []
        broker.topics["t"] = 6
        await clock.aadvance(30)
        assert consumer.seen == ["routes"]
        assert len((await instance.route("t")).read_queues()) == 6

    scene(play)


def test_a_topic_that_is_gone_keeps_its_last_route():
    async def play(instance, broker, clock):
        await instance.route("t")
        del broker.topics["t"]
        await clock.aadvance(60)
        assert len((await instance.route("t")).read_queues()) == 4

    scene(play)


def test_another_name_server_is_asked_when_one_fails():
    async def play(instance, broker, clock):
        broker.script(GetRouteinfoByTopic, ConnectError("down"))
        assert (await instance.route("t")).topic == "t"
        broker.script(GetRouteinfoByTopic, ConnectError("down"), ConnectError("down"))
        with pytest.raises(RouteError, match=r"no name server answered \(n:1, n:2\)"):
            await instance.route("t", refresh=True)

    scene(play, nameserver="n:1;n:2")


def test_heartbeats_at_once_and_every_thirty_seconds():
    async def play(instance, broker, clock):
        instance.register_producer("pg")
        await instance.route("t")
        await settle()
        assert len(broker.heartbeats) == 1
        assert [p.group_name for p in broker.heartbeats[0].producer_data_set] == ["pg"]
        assert broker.heartbeats[0].client_id == instance.client_id
        assert instance.broker_versions == {broker.address: 479}
        await clock.aadvance(30)
        assert len(broker.heartbeats) == 2
        instance.register_consumer("cg", Consumer())
        await settle()
        assert [c.group_name for c in broker.heartbeats[2].consumer_data_set] == ["cg"]

    scene(play)


def test_a_failed_heartbeat_does_not_end_them():
    async def play(instance, broker, clock):
        await instance.route("t")
        broker.script(HeartBeat, ConnectError("down"), AnswerError(1, "no", broker.address))
        instance.register_producer("pg")
        await clock.aadvance(60)
        await settle()
        assert len(broker.heartbeats) == 1

    scene(play)


def test_all_groups_are_left_at_the_end():
    brokers = []

    async def play(instance, broker, clock):
        brokers.append(broker)
        await instance.route("t")
        instance.register_producer("pg")
        instance.register_consumer("cg", Consumer())

    scene(play)
    left = brokers[0].sent(UnregisterClient)
    assert [(request.producer_group, request.consumer_group) for request in left] == [
        (None, "cg"),
        ("pg", None),
    ]
