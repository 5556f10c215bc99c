"""What a service asks of its broker for clients of another protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest
from halves import COMMIT, HALF, INTERVAL, bodies
from mqframe_admin.requests import DeleteTopicInBroker
from mqframe_pop.broker.processor import PopProcessor
from mqframe_pop.requests import Notification
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.protocol_client import pull_request, send_request
from net.access.plugins import manager
from popping import KEY, pop, pop_request

from mqframe.broker.consuming.processor import PullProcessor
from mqframe.core.cluster.client_bodies import ConsumerData, ConsumerList, HeartbeatData, ProducerData
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.errors import ConnectionLost
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, UpdateAndCreateTopic
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    HeartBeat,
    NotifyConsumerIdsChanged,
    UnregisterClient,
)
from mqframe.core.requests.fields import Request, decode_fields
from mqframe.core.requests.insight import GetConsumerRunningInfo
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction, SendAnswer
from mqframe.core.requests.serving import Reply
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.core.wire.loose_json import decode, dumps, loads
from mqframe.hooks.interfaces import BrokerService, ProxiedClient
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl
from mqframe.net.access.settings import AccessSettings

HELD = {"sys_flag": PullFlag.SUSPEND | PullFlag.SUBSCRIPTION}


class Guest(ProxiedClient):
    """A client of another protocol, which asks through its own peer."""

    language = "GO"
    version = 401

    def __init__(self, cluster: AsyncCluster, **fields: Any) -> None:
        self.address = "10.0.0.7:4711"
        for name, value in fields.items():
            setattr(self, name, value)
        self.notices: list[tuple[Request, bytes]] = []
        self.ends: list[str] = []
        self.peer = cluster.broker.service_port.requests.connect(self)

    def notified(self, request: Request, body: Any) -> None:
        self.notices.append((request, bytes(body)))

    async def asked(self, request: Request, body: Any) -> Reply:
        return Reply(body=b"running as ever")

    def closed(self, reason: str) -> None:
        self.ends.append(reason)

    async def ok(self, request: Request, body: bytes = b"") -> Reply:
        reply = await self.peer.ask(request, body)
        assert reply.code == 0, f"{reply.code} {reply.remark}"
        return reply

    def later(self, request: Request, body: bytes = b"") -> asyncio.Task[Reply]:
        """The answer, which may come when something happens."""
        return asyncio.ensure_future(self.peer.ask(request, body))

    async def beat(self, *groups: str, producers: tuple[str, ...] = ()) -> Reply:
        data = HeartbeatData(
            client_id=f"guest@{self.address}",
            consumer_data_set=[
                ConsumerData(group_name=name, subscription_data_set=[SubscriptionData(topic="t")])
                for name in groups
            ],
            producer_data_set=[ProducerData(group_name=name) for name in producers],
        )
        return await self.ok(HeartBeat(), dumps(data))


def found(reply: Reply) -> list[bytes]:
    return [message.body for message in decode_records(reply.joined_body())]


async def members(world: Any) -> list[str]:
    answer = await world.client.ok(GetConsumerListByGroup(consumer_group="g"))
    return decode(answer.body, ConsumerList).consumer_id_list


def waiting(world: Any) -> tuple[int, int]:
    """How many pops and pulls wait."""
    broker = world.cluster.broker
    return len(broker.part(PopProcessor)._waiting), len(broker.part(PullProcessor)._polling)


# Messages


async def test_messages_are_stored_and_pulled_without_a_turn_of_the_loop() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await guest.peer.ask(pull_request("t"))  # makes the group, and waits until that is saved
        turned: list[int] = []
        asyncio.get_running_loop().call_soon(turned.append, 1)
        reply = await guest.ok(send_request("t", KEY), b"first")
        assert decode_fields(reply.fields(), SendAnswer).queue_offset == 0
        await guest.ok(send_request("t", KEY), memoryview(b"second"))  # type: ignore[arg-type]
        assert turned == []
        await world.settle()
        asyncio.get_running_loop().call_soon(turned.append, 2)
        reply = await guest.ok(pull_request("t"))
        messages = decode_records(reply.joined_body())
        assert turned == [1]
        assert [(m.body, m.born_host) for m in messages] == [
            (b"first", "10.0.0.7:4711"),
            (b"second", "10.0.0.7:4711"),
        ]


async def test_a_pull_is_held_until_there_is_something_or_its_time_is_over() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        asked = guest.later(pull_request("t", **HELD))
        await world.settle()
        assert not asked.done()
        await world.client.ok_send("t", KEY, body=b"come")
        await world.settle()
        assert found(asked.result()) == [b"come"]
        asked = guest.later(pull_request("t", 1, suspend_timeout_millis=20_000, **HELD))
        await world.clock.aadvance(19)
        assert not asked.done()
        await world.clock.aadvance(6)
        await world.settle()
        assert asked.result().code == ResponseCode.PULL_NOT_FOUND


async def test_a_pop_is_held_until_there_is_something_or_its_time_is_over() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        asked = guest.later(pop_request(poll_time=20_000))
        told = guest.later(
            Notification(consumer_group="other", topic="t", queue_id=-1, poll_time=20_000, born_time=0)
        )
        await world.settle()
        await world.client.ok_send("t", KEY, body=b"come")
        await world.settle()
        assert (found(asked.result()), told.result().code) == ([b"come"], 0)
        asked = guest.later(pop_request(poll_time=20_000))
        await world.clock.aadvance(21)
        assert asked.result().code == ResponseCode.POLLING_TIMEOUT


async def test_a_message_that_is_too_large_is_refused() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        reply = await guest.peer.ask(send_request("t", KEY), bytes(5 << 20))
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        reply = await guest.peer.ask(send_request("t", KEY), bytes(20 << 20))
        assert reply.code == ResponseCode.INVALID_PARAMETER
        reply = await guest.peer.ask(HeartBeat(), bytes(3 << 20))
        assert reply.code == ResponseCode.INVALID_PARAMETER
        assert "net.body_bytes_max" in (reply.remark or "")
        assert world.store.queues.max_offset("t", 0) == 0


async def test_many_ask_at_a_time_for_one_client() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        asked = [guest.later(pull_request("t", **HELD)) for _ in range(100)]
        await world.settle()
        sent = await asyncio.gather(
            *(guest.ok(send_request("t", KEY), b"%d" % number) for number in range(100))
        )
        assert [decode_fields(each.fields(), SendAnswer).queue_offset for each in sent] == list(range(100))
        pulled = await asyncio.gather(*asked)
        assert [found(reply)[0] for reply in pulled] == [b"0"] * 100


# Giving up


async def test_a_held_pull_or_pop_that_nobody_waits_for_takes_nothing() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        gone = [guest.later(pop_request(poll_time=60_000)), guest.later(pull_request("t", **HELD))]
        kept = guest.later(pop_request(poll_time=60_000, topic="t", consumer_group="other"))
        await world.settle()
        assert waiting(world) == (2, 1)
        for asked in gone:
            asked.cancel()
        await world.settle()
        assert waiting(world) == (1, 0)
        await world.client.ok_send("t", KEY, body=b"come")
        await world.settle()
        assert found(kept.result()) == [b"come"]
        assert [m.body for m in await pop(world)] == [b"come"]


async def test_a_pull_that_is_given_up_while_it_is_answered_harms_nobody() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        asked = [guest.later(pull_request("t", **HELD)) for _ in range(100)]
        await world.settle()
        await guest.ok(send_request("t", KEY), b"come")
        while not asked[0].done():
            await asyncio.sleep(0)
        for each in asked[64:]:
            each.cancel()
        await world.settle()
        assert [found(each.result()) for each in asked[:64]] == [[b"come"]] * 64
        assert all(each.done() for each in asked)
        assert world.cluster.broker.part(PullProcessor)._polling.weight == 0


# Groups


async def test_it_is_a_member_of_groups_and_hears_of_others() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await guest.beat("g")
        await world.settle()
        assert [request for request, _ in guest.notices] == [NotifyConsumerIdsChanged(consumer_group="g")]
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.settle()
        assert len(guest.notices) == 2
        assert await members(world) == ["guest@10.0.0.7:4711", "c1"]
        [member, _] = world.cluster.broker.service_port.clients.consumers["g"].members.values()
        assert (member.language, member.version, member.address) == ("GO", 401, "10.0.0.7:4711")
        world.client.notices.clear()
        await guest.ok(UnregisterClient(client_id="x", consumer_group="g"))
        await world.settle()
        assert world.client.notices == ["g"]
        assert await members(world) == ["c1"]


async def test_with_its_peer_it_leaves_all_that_it_was_in() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await guest.beat("g", producers=("p",))
        clients = world.cluster.broker.service_port.clients
        assert (len(clients.consumers["g"].members), list(clients.producers["p"])) == (2, [guest.peer])
        asked = [guest.later(pop_request(poll_time=60_000)), guest.later(pull_request("t", **HELD))]
        await world.settle()
        world.client.notices.clear()
        guest.peer.close("its stream ended")
        await world.settle()
        for each in asked:
            with pytest.raises(ConnectionLost, match="its stream ended"):
                each.result()
        assert guest.ends == ["its stream ended"]
        assert (len(clients.consumers["g"].members), clients.producers) == (1, {})
        assert world.client.notices == ["g"]
        assert waiting(world) == (0, 0)
        with pytest.raises(ConnectionLost):
            await guest.beat("g")


async def test_who_sends_no_heartbeats_any_more_is_closed() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await guest.beat("g")
        for _ in range(6):
            await world.clock.aadvance(25)
            if not guest.peer.closed:
                await guest.ok(send_request("t", KEY), b"b")
        await world.settle()
        assert guest.ends == ["no heartbeat for 120 s"]


async def test_open_transactions_are_checked_with_it() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await guest.beat(producers=("p",))
        fields = {"born_timestamp": world.clock.now_ms(), "sys_flag": 4}
        await guest.ok(send_request("t", HALF, **fields), b"half")
        for _ in range(2):
            await guest.beat(producers=("p",))
            await world.clock.aadvance(INTERVAL)
        [(request, body)] = [each for each in guest.notices if isinstance(each[0], CheckTransactionState)][:1]
        assert (decode_record(body).body, bodies(world)) == (b"half", [])
        await guest.ok(
            EndTransaction(
                producer_group="p",
                tran_state_table_offset=request.tran_state_table_offset,  # type: ignore[attr-defined]
                commit_log_offset=request.commit_log_offset,  # type: ignore[attr-defined]
                commit_or_rollback=COMMIT,
                msg_id="U1",
                from_transaction_check=True,
            )
        )
        await world.settle()
        assert bodies(world) == [b"half"]


async def test_operators_are_shown_what_it_says_of_itself() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        await guest.beat("g")
        wanted = GetConsumerRunningInfo(consumer_group="g", client_id="guest@10.0.0.7:4711")
        assert (await world.client.ok(wanted)).body == b"running as ever"


# What an answer says is saved


class Slow(Executor):
    """Does nothing before `go`."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.going = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        self.waiting.append(lambda: future.set_result(fn(*args, **kwargs)))
        if self.going:
            self.go()
        return future

    def go(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


async def test_an_answer_that_tells_of_a_new_topic_waits_until_that_is_saved() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        slow = world.cluster.broker._keeper.thread = Slow()
        asked = guest.later(send_request("made-by-itself", KEY), b"first")
        await world.settle_loop()
        assert not asked.done()
        assert world.store.queues.max_offset("made-by-itself", 0) == 1
        assert (await guest.ok(send_request("t", KEY), b"of another topic")).code == 0
        slow.going = True
        slow.go()
        await world.settle()
        assert asked.result().code == 0


# The broker stops


async def test_what_is_held_is_answered_when_the_broker_stops_or_fails_with_its_reason() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        pulled, popped = guest.later(pull_request("t", **HELD)), guest.later(pop_request(poll_time=60_000))
        await world.settle()
        await world.cluster.stop_broker()
        assert (await pulled).code == ResponseCode.PULL_NOT_FOUND
        with pytest.raises(ConnectionLost, match="the server stops"):
            await popped
        assert guest.ends == ["the server stops"]
        with pytest.raises(ConnectionLost, match="the server stops; nothing was sent"):
            await guest.beat("g")
        with pytest.raises(ConnectionLost, match="or stops"):
            Guest(world.cluster)
        await world.cluster.start_broker()
        await Guest(world.cluster).beat("g")


async def test_nobody_waits_for_a_broker_that_was_killed() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        guest = Guest(world.cluster)
        asked = guest.later(pull_request("t", **HELD))
        await world.settle()
        await world.cluster.kill_broker()
        with pytest.raises(ConnectionLost, match="the server stops"):
            await asked


async def test_a_service_is_handed_the_way_to_ask_before_anybody_is_served() -> None:
    class Door(BrokerService):
        def __init__(self, port: Any) -> None:
            self.requests = port.requests
            doors.append(self)

        async def start(self) -> None:
            with pytest.raises(ConnectionLost, match="has not started yet"):
                self.requests.connect(Guest.__new__(Guest))

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> Any:
            return {"door": Door}

    doors: list[Door] = []
    plugins = PluginManager()
    plugins.register(Plugin(), "door")
    options: dict[str, Any] = {"broker": {"services": ("door",)}, "plugins": plugins}
    async with AsyncCluster(clock=ManualClock(), **options) as cluster:
        [door] = doors
        assert door.requests is cluster.broker.service_port.requests
        await Guest(cluster).beat("g")


# Who may what


async def test_access_control_and_audit_are_those_of_connections(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqframe.audit")
    cluster = AsyncCluster(clock=ManualClock(), plugins=manager())
    cluster.enforce(AccessSettings(authentication="naming", authorization="matching"))
    async with cluster:
        create = UpdateAndCreateTopic(topic="x", read_queue_nums=1, write_queue_nums=1, perm=6)
        unknown, root, y = (Guest(cluster, user=user) for user in ("", "root", "y"))
        assert [(await each.peer.ask(create)).code for each in (unknown, y, root)] == [16, 16, 0]
        signed = await unknown.peer.ask(create, fields={"user": "root"})
        told = await unknown.peer.ask(send_request("x", KEY), b"b", user="x")
        assert (signed.code, told.code) == (0, 0)
        refused = cluster.broker._listeners.refused()
        assert refused == {"authenticationFailures": "1", "authorizationFailures": "1"}
    lines = [each.getMessage() for each in caplog.records if each.name == "mqframe.audit"]
    assert ["refused" in line for line in lines] == [True, False, False], lines
    assert all("10.0.0.7:4711" in line for line in lines)
    assert ["user='y'" in line for line in lines] == [True, False, False], lines


async def test_what_is_for_operators_alone_is_refused_where_they_have_a_port() -> None:
    async with AsyncCluster(clock=ManualClock(), broker={"operator_port": 0}) as cluster:
        guest = Guest(cluster)
        reply = await guest.peer.ask(DeleteTopicInBroker(topic="t"))
        assert reply.code == ResponseCode.NO_PERMISSION
        assert "operator_port" in (reply.remark or "")
        await guest.ok(send_request("made", KEY), b"b")


async def test_it_counts_among_connections_and_its_waits_are_its_service_s_to_measure() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        world.cluster.broker.measure()
        used = [int(await connections(world))]
        guest = Guest(world.cluster)
        used.append(int(await connections(world)))
        assert used[1] == used[0] + 1
        await guest.ok(send_request("t", KEY), b"b")
        latencies = world.cluster.broker._listeners.measure()
        series = {labels[1]: sum(value.counts) for labels, value in latencies.family().series}
        assert series == {"get_broker_runtime_info": 2}


async def connections(world: Any) -> str:
    table = loads((await world.client.ok(GetBrokerRuntimeInfo())).body)["table"]
    used: str = table["budget.connections.used"]
    return used
