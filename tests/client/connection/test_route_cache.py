"""Routes: asked for once, polled, and shared, over a scripted remoting and a manual clock."""

import asyncio

import pytest
from instances import consumer, running_instance, settle

from mqframe.client.connection.route_cache import ask_any, read_route
from mqframe.core.cluster.name_servers import NameServers
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import BadAnswer, ConnectError, RouteError
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.frame import Frame


async def test_a_route_is_asked_for_once_by_all_who_want_it():
    async with running_instance() as (instance, broker, _clock):
        routes = await asyncio.gather(*[instance.route("t") for _ in range(5)])
        assert len({id(route) for route in routes}) == 1
        await instance.route("t")
        assert len(broker.sent(GetRouteinfoByTopic)) == 1
        await instance.route("t", refresh=True)
        assert len(broker.sent(GetRouteinfoByTopic)) == 2


async def test_an_unknown_topic():
    async with running_instance() as (instance, _broker, _clock):
        with pytest.raises(RouteError, match="no route to topic nothing"):
            await instance.route("nothing")


async def test_a_new_topic_is_sent_by_the_default_route_until_it_exists():
    async with running_instance({"TBW102": 8}) as (instance, broker, clock):
        route = await instance.routes.refresh("new", "TBW102", 4)
        assert route.from_default
        assert [queue.queue_id for queue in route.write_queues()] == [0, 1, 2, 3]
        assert {queue.topic for queue in route.write_queues()} == {"new"}
        with pytest.raises(RouteError):
            await instance.route("new")
        broker.topics["new"] = 2
        await clock.aadvance(30)
        route = await instance.routes.refresh("new", "TBW102", 4)
        assert not route.from_default
        assert len(route.write_queues()) == 2


async def test_no_topic_and_no_default_topic():
    async with running_instance() as (instance, _broker, _clock):
        with pytest.raises(RouteError, match="create it"):
            await instance.routes.refresh("new", "TBW102", 4)


async def test_routes_are_polled_and_changes_told():
    seen: list[str] = []

    async with running_instance() as (instance, broker, clock):
        await instance.route("t")
        instance.register_consumer("cg", consumer(seen))
        await settle()
        seen.clear()
        await clock.aadvance(30)
        assert seen == []
        broker.topics["t"] = 6
        await clock.aadvance(30)
        assert seen == ["routes"]
        assert len((await instance.route("t")).read_queues()) == 6


async def test_a_topic_that_is_gone_keeps_its_last_route():
    async with running_instance() as (instance, broker, clock):
        await instance.route("t")
        del broker.topics["t"]
        await clock.aadvance(60)
        assert len((await instance.route("t")).read_queues()) == 4


async def test_another_name_server_is_asked_when_one_fails():
    async with running_instance(nameserver="n:1;n:2") as (instance, broker, _clock):
        broker.script(GetRouteinfoByTopic, ConnectError("down"))
        assert (await instance.route("t")).topic == "t"
        broker.script(GetRouteinfoByTopic, ConnectError("down"), ConnectError("down"))
        with pytest.raises(RouteError, match=r"no name server answered \(n:1, n:2\)"):
            await instance.route("t", refresh=True)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"queueDatas":[{}]}', b"[" * 100_000, b"[1]"])
async def test_a_name_server_that_answers_nonsense_is_as_one_that_does_not_answer(body):
    async with running_instance() as (instance, broker, _clock):
        broker.script(GetRouteinfoByTopic, lambda request: Frame(0, flag=1, body=body))
        with pytest.raises(RouteError, match="no name server answered") as caught:
            await instance.route("t")
        assert isinstance(caught.value.__cause__, BadAnswer)
        assert len((await instance.route("t")).read_queues()) > 0


async def test_another_name_server_is_asked_after_nonsense():
    servers = NameServers(("a:1", "b:1"))
    asked = []

    async def invoke(address):
        asked.append(address)
        return Frame(0, body=b"?" if address == "a:1" else b'{"queueDatas":[]}')

    assert (await ask_any(servers, invoke, read_route)).queue_datas == []
    assert asked == ["a:1", "b:1"]


async def test_a_route_that_cannot_be_true_leaves_the_last_one_in_use():
    async with running_instance() as (instance, broker, clock):
        before = await instance.route("t")
        body = b'{"brokerDatas":[],"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":999999999,'
        body += b'"writeQueueNums":1}]}'
        broker.script(GetRouteinfoByTopic, lambda request: Frame(0, flag=1, body=body))
        await clock.aadvance(30)
        assert (await instance.route("t")) is before


async def test_who_joins_a_question_that_is_older_than_the_topic_asks_again():
    async with running_instance() as (instance, broker, _clock):
        answered = asyncio.get_running_loop().create_future()
        broker.script(GetRouteinfoByTopic, lambda request: answered)
        first = asyncio.ensure_future(instance.route("new"))
        await settle()
        joined = [asyncio.ensure_future(instance.route("new")) for _ in range(3)]
        await settle()
        broker.topics["new"] = 2
        answered.set_result(Frame(ResponseCode.TOPIC_NOT_EXIST, flag=1, remark="none"))
        with pytest.raises(RouteError):
            await first
        found = await asyncio.gather(*joined)
        assert [len(route.read_queues()) for route in found] == [2, 2, 2]
        assert len(broker.sent(GetRouteinfoByTopic)) == 2


async def test_a_topic_that_is_watched_is_in_use_as_soon_as_it_is_there():
    async with running_instance({}) as (instance, broker, clock):
        await instance.routes.watch("later")
        assert instance.routes.brokers() == {}
        broker.topics["later"] = 1
        await clock.aadvance(30)
        assert instance.routes.known("later") is not None
        assert list(instance.routes.brokers()) == [broker.broker_name]
