"""Routes, heartbeats and notices of one client, over a scripted remoting and a manual clock."""

import asyncio

import pytest
from instances import consumer, running_instance, settle
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.errors import AnswerError, ClosedError, ConnectError
from mqframe.core.requests.consumers import HeartBeat, UnregisterClient
from mqframe.core.wire.frame import Frame


async def test_heartbeats_at_once_and_every_thirty_seconds():
    async with running_instance() as (instance, broker, clock):
        instance.register_producer("pg")
        await instance.route("t")
        await settle()
        assert len(broker.heartbeats) == 1
        assert [p.group_name for p in broker.heartbeats[0].producer_data_set] == ["pg"]
        assert broker.heartbeats[0].client_id == instance.client_id
        assert instance.broker_versions == {broker.address: 479}
        await clock.aadvance(30)
        assert len(broker.heartbeats) == 2
        instance.register_consumer("cg", consumer())
        await settle()
        assert [c.group_name for c in broker.heartbeats[2].consumer_data_set] == ["cg"]


@pytest.mark.parametrize("unit_mode", [False, True])
async def test_heartbeats_say_whether_consumers_belong_to_a_unit(unit_mode):
    async with running_instance(unit_mode=unit_mode) as (instance, broker, _clock):
        instance.register_consumer("cg", consumer())
        await instance.route("t")
        await settle()
        assert [each.unit_mode for each in broker.heartbeats[-1].consumer_data_set] == [unit_mode]


async def test_a_second_start_begins_nothing_twice():
    async with running_instance() as (instance, broker, clock):
        await instance.start()
        instance.register_producer("pg")
        await instance.route("t")
        await settle()
        await clock.aadvance(30)
        assert len(broker.heartbeats) == 2


async def test_a_failed_heartbeat_does_not_end_them():
    async with running_instance() as (instance, broker, clock):
        await instance.route("t")
        broker.script(HeartBeat, ConnectError("down"), AnswerError(1, "no", broker.address))
        instance.register_producer("pg")
        await clock.aadvance(60)
        await settle()
        assert len(broker.heartbeats) == 1


async def test_a_broker_that_is_reached_again_is_told_of_the_groups_at_once():
    async with running_instance() as (instance, broker, _clock):
        await instance.route("t")
        broker.on_open(broker.address)
        await settle()
        assert broker.heartbeats == [], "there is nothing to tell"
        instance.register_producer("pg")
        instance.register_consumer("cg", consumer())
        await settle()
        count = len(broker.heartbeats)
        broker.on_open(broker.address)
        broker.on_open("10.9.9.9:9876")  # a name server
        await settle()
        assert len(broker.heartbeats) == count + 1
        assert [each.group_name for each in broker.heartbeats[-1].producer_data_set] == ["pg"]
        assert [each.group_name for each in broker.heartbeats[-1].consumer_data_set] == ["cg"]


async def test_a_heartbeat_that_opens_the_connection_itself_is_not_doubled():
    async with running_instance() as (instance, broker, clock):
        await instance.route("t")
        instance.register_producer("pg")
        await settle()

        def opens(request):
            broker.on_open(broker.address)
            raise ConnectError("gone again")

        broker.script(HeartBeat, opens)
        await clock.aadvance(30)
        await settle()
        assert len(broker.heartbeats) == 1
        await clock.aadvance(30)
        assert len(broker.heartbeats) == 2


async def test_all_groups_are_left_at_the_end():
    brokers = []

    async with running_instance() as (instance, broker, _clock):
        brokers.append(broker)
        await instance.route("t")
        instance.register_producer("pg")
        instance.register_consumer("cg", consumer())
    left = brokers[0].sent(UnregisterClient)
    assert [(request.producer_group, request.consumer_group) for request in left] == [
        (None, "cg"),
        ("pg", None),
    ]


async def test_a_broker_is_asked_for_its_version_once():
    async with running_instance() as (instance, broker, _clock):
        broker.script(HeartBeat, lambda _: Frame(1, remark="refused", version=407))
        assert await instance.broker_version(broker.address) == 407
        assert await instance.broker_version(broker.address) == 407
        assert len(broker.sent(HeartBeat)) == 1


class Held:
    """Heartbeats that are answered when the test says so."""

    def __init__(self):
        self.answer = asyncio.get_running_loop().create_future()

    async def __call__(self, request):
        await self.answer
        return Frame(0)


async def test_a_group_is_left_once_the_heartbeat_under_way_is_answered():
    async with running_instance() as (instance, broker, _clock):
        await instance.route("t")
        held = Held()
        broker.script(HeartBeat, held)
        instance.register_producer("pg")
        await settle()
        left = asyncio.ensure_future(instance.unregister_producer("pg"))
        await settle()
        assert broker.sent(UnregisterClient) == []
        held.answer.set_result(None)
        await left
        assert len(broker.sent(UnregisterClient)) == 1


async def test_the_end_waits_for_the_heartbeat_that_it_cuts_short():
    async with running_instance() as (instance, broker, _clock):
        await instance.route("t")
        held = Held()
        broker.script(HeartBeat, held)
        instance.register_consumer("cg", consumer())
        await settle()
        ended = asyncio.ensure_future(instance.stop())
        await settle()
        assert broker.sent(UnregisterClient) == []
        held.answer.set_result(None)
        await ended
        assert len(broker.sent(UnregisterClient)) == 1


async def test_a_heartbeat_that_is_not_answered_is_not_waited_for_long():
    async with running_instance() as (instance, broker, clock):
        await instance.route("t")
        held = Held()
        broker.script(HeartBeat, held)
        instance.register_producer("pg")
        await settle()
        left = asyncio.ensure_future(instance.unregister_producer("pg"))
        await clock.aadvance(0.9)
        assert broker.sent(UnregisterClient) == []
        await clock.aadvance(0.1)
        await left
        assert len(broker.sent(UnregisterClient)) == 1


async def test_a_heartbeat_that_a_new_connection_asks_for_names_no_group_after_its_leaving():
    async with running_instance() as (instance, broker, _clock):
        instance.register_producer("pg")
        await instance.route("t")
        await settle()
        broker.on_open(broker.address)
        await instance.unregister_producer("pg")
        await settle()
        assert [type(request) for request in broker.requests[-2:]] == [HeartBeat, UnregisterClient]


async def test_replies_and_answers_for_operators_are_made_when_they_are_needed() -> None:
    instance = ClientInstance.connect(ClientSettings(nameserver="127.0.0.1:1"), ManualClock())
    assert instance.replies is instance.replies
    assert instance.operator_requests is instance.operator_requests
    instance.replies.expect(5.0)
    await instance.stop()
    with pytest.raises(ClosedError, match="the client was stopped"):
        instance.replies.expect(5.0)
    late = ClientInstance.connect(ClientSettings(nameserver="127.0.0.1:1"), ManualClock())
    await late.stop()
    with pytest.raises(ClosedError, match="the client was stopped"):
        late.replies.expect(5.0)
