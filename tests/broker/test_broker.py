"""Starting, stopping, restarting, flow control."""

import asyncio
import contextlib
import socket
from types import SimpleNamespace

import pytest
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.protocol_client import pull_request, send_request

from mqframe.broker.broker import Broker
from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.sections import BrokerSections
from mqframe.broker.sending.processor import SendProcessor
from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import PullFlag
from mqframe.core.errors import PluginError, Refusal, SettingError, StoreError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, GetTopicConfig
from mqframe.core.requests.consumers import QueryConsumerOffset, UpdateConsumerOffset
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.serving import Call, handlers_of
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import loads
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.interfaces.rpc_hook import RpcHook
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl
from mqframe.net.client import Client
from mqframe.net.clock import SystemClock
from mqframe.store.settings import StoreSettings

KEY = "UNIQ_KEY\x01FD00AA\x02"
SMALL = {"commit_log_file_bytes": 1 << 20, "queue_file_bytes": 20_000}


async def route(world, topic="t"):
    request = GetRouteinfoByTopic(topic=topic)
    answer = await world.client.client.invoke(world.cluster.nameserver, request)
    return loads(answer.body) if answer.code == 0 else answer.code


async def test_the_name_server_knows_a_started_broker_and_forgets_a_stopped_one():
    async with ClusterScene(topics={"t": 2}) as world:
        found = await route(world)
        assert found["brokerDatas"][0]["brokerAddrs"] == {"0": world.cluster.broker.address}
        assert found["queueDatas"][0]["writeQueueNums"] == 2
        await world.cluster.stop_broker()
        assert await route(world) == 17


@pytest.mark.parametrize("orderly", [True, False])
async def test_everything_promised_is_there_after_a_restart(orderly):
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        for number in range(5):
            await world.client.ok_send("t", f"{KEY}n\x01{number}\x02")
        await world.client.ok_send("made-by-itself", KEY)
        fields = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        await world.client.ok(UpdateConsumerOffset(commit_offset=3, **fields))
        if orderly:
            await world.cluster.stop_broker()
        else:
            await world.clock.aadvance(5)
            await world.settle()  # the offsets are on their way to the disk, in a thread
            await world.cluster.kill_broker()
        await world.cluster.start_broker()
        answer = await world.client.pull("t")
        assert [m.properties["n"] for m in decode_records(answer.body)] == list("01234")
        assert (await world.client.ok(QueryConsumerOffset(**fields))).ext == {"offset": "3"}
        await world.client.ok(GetTopicConfig(topic="made-by-itself"))
        await world.client.ok(GetTopicConfig(topic="%RETRY%g"))
        answer = await world.client.ok_send("t", KEY)
        assert answer.ext["queueOffset"] == "5"


async def test_waiting_pulls_are_answered_when_the_broker_stops():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=PullFlag.SUSPEND | PullFlag.SUBSCRIPTION)
        await world.settle()
        await world.cluster.stop_broker()
        assert (await waiting).code == 19


class Slow(RpcHook):
    """Time passes before each request is served."""

    name = "slow"
    clock: ManualClock
    seconds = 0.0

    def before(self, address, request):
        if self.seconds:
            self.clock.advance(self.seconds)


class Offer:
    def __init__(self, hook):
        self.hook = hook

    @hookimpl
    def register_rpc_hooks(self):
        return {"slow": lambda: self.hook}


@pytest.mark.parametrize(("kind", "code"), [("send", 0), ("pull", 19)])
async def test_a_loop_that_was_held_up_is_no_reason_to_refuse_what_can_be_served_now(kind, code):
    hook = Slow()
    plugins = PluginManager(list)
    plugins.register(Offer(hook), "test")

    async with ClusterScene(topics={"t": 2}, plugins=plugins, broker={"rpc_hooks": ("slow",)}) as world:
        hook.clock, hook.seconds = world.clock, 10.0
        answer = await (world.client.send("t", properties=KEY) if kind == "send" else world.client.pull("t"))
        assert answer.code == code


@pytest.mark.parametrize(
    ("kind", "seconds", "busy"),
    [("send", 0.19, False), ("send", 0.21, True), ("pull", 4.9, False), ("pull", 5.1, True)],
)
async def test_a_request_that_queued_too_long_behind_others_is_refused_as_busy(kind, seconds, busy):
    async with ClusterScene(topics={"t": 2}) as world:
        request = send_request("t", KEY) if kind == "send" else pull_request("t")
        parts = [world.cluster.broker.part(part) for part in (SendProcessor, PullProcessor)]
        handlers = handlers_of(*(each for part in parts for each in part.serving()))
        frame = Frame(request.CODE, ext=encode_fields(request), body=b"x")
        call = Call(frame, SimpleNamespace(address="127.0.0.1:9", closed=False), 0.0, seconds)
        if busy:
            with pytest.raises(Refusal, match="again later") as refused:
                handlers[request.CODE](call)
            assert refused.value.code == 2
        else:
            assert handlers[request.CODE](call).code in (0, 19)


async def test_a_full_disk_refuses_sends_and_serves_pulls():
    limits = {"disk_limits": True, "disk_refuse_percent": 10, "disk_force_percent": 10}
    async with ClusterScene(
        topics={"t": 2}, store={**limits, "disk_clean_percent": 10, "disk_enough_free_bytes": 0}
    ) as world:
        await world.clock.aadvance(30)
        answer = await world.client.send("t", properties=KEY)
        assert answer.code == 14
        assert (await world.client.pull("t")).code == 19


async def test_an_advertised_host_is_what_clients_are_told():
    async with ClusterScene(topics={"t": 2}, broker={"advertise": "localhost"}) as world:
        host, _, port = world.cluster.broker.address.rpartition(":")
        assert host == "localhost"
        assert (await route(world))["brokerDatas"][0]["brokerAddrs"]["0"] == f"localhost:{port}"
        answer = await world.client.ok_send("t", KEY)
        assert answer.ext["msgId"].startswith("7F000001")


def test_an_advertised_host_without_address_is_a_bad_setting(tmp_path):
    settings = BrokerSettings(port=0, advertise="no-such-host.invalid")
    with pytest.raises(SettingError, match="no-such-host"):
        Broker(BrokerSections(settings, StoreSettings(directory=tmp_path, **SMALL)), SystemClock())
    assert not (tmp_path / "lock").exists()


async def test_services_ask_name_servers_through_it(tmp_path):
    async with ClusterScene(topics={"t": 2}) as world:
        ask = world.cluster.broker.service_port.ask_nameservers
        answer = await ask(GetRouteinfoByTopic(topic="t"))
        assert (answer.code, loads(answer.body)["brokerDatas"][0]["brokerName"]) == (0, "broker-a")
        assert (await ask(GetRouteinfoByTopic(topic="absent"))).code == 17
        sections = BrokerSections(
            BrokerSettings(port=0), StoreSettings(directory=tmp_path / "alone", **SMALL)
        )
        alone = Broker(sections, world.clock)
        await alone.start()
        assert await alone.service_port.ask_nameservers(GetRouteinfoByTopic(topic="t")) is None
        await alone.stop()


async def test_a_broker_that_failed_to_start_does_not_unregister_its_twin(tmp_path):
    async with ClusterScene(topics={"t": 2}) as world:
        port = int(world.cluster.broker.address.rpartition(":")[2])
        settings = BrokerSettings(port=port, vip_port=False, nameservers=(world.cluster.nameserver,))
        store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
        twin = Broker(BrokerSections(settings, store), world.clock)
        with pytest.raises(OSError, match="address"):
            await twin.start()
        assert (await route(world))["brokerDatas"]


async def test_a_directory_has_one_broker(tmp_path):
    settings = BrokerSettings(port=0)
    store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
    first = Broker(BrokerSections(settings, store), SystemClock())
    await first.start()
    try:
        with pytest.raises(StoreError):
            Broker(BrokerSections(settings, store), SystemClock())
    finally:
        await first.stop()


@pytest.mark.parametrize("name", ["topics.json", "subscriptionGroup.json", "consumerOffset.json"])
async def test_tables_that_cannot_be_read_stop_the_start_and_are_not_saved_over(tmp_path, name):
    store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
    config = tmp_path / "config"
    config.mkdir()
    for path in (config / name, config / f"{name}.bak"):
        path.write_bytes(b'{"dataVersion":')
    broker = Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock())
    with pytest.raises(StoreError, match=rf"{name} is broken.*{name}\.bak is broken.*move it and"):
        await broker.start()
    left = {path.name: path.read_bytes() for path in config.iterdir() if path.name.startswith(name)}
    assert left == {name: b'{"dataVersion":', f"{name}.bak": b'{"dataVersion":'}
    (config / name).write_bytes(b"{}")
    again = Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock())
    await again.start()
    await again.stop()


async def test_a_service_that_fails_stops_the_start_in_words(tmp_path):
    class Failing(BrokerService):
        async def start(self):
            raise KeyError("odd")

    store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
    broker = Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock())
    broker._parts.append(Failing())
    with pytest.raises(PluginError, match="Failing cannot start: KeyError: 'odd'"):
        await broker.start()
    await Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock()).abandon()


async def test_whoever_fails_to_take_a_message_stops_nobody():
    async with ClusterScene(topics={"t": 2}) as world:
        broker = world.cluster.broker
        told = []

        def fail(topic, *more):
            told.append(topic)
            raise KeyError("odd")

        follow = broker._followers
        broker._followers = (fail, *follow)
        waiting = asyncio.ensure_future(
            world.client.pull("t", sys_flag=PullFlag.SUSPEND | PullFlag.SUBSCRIPTION)
        )
        await world.settle()
        await world.client.ok_send("t", "UNIQ_KEY\x01A\x02")
        assert (await waiting).code == 0
        assert told == ["t"]
        runtime = loads((await world.client.ok(GetBrokerRuntimeInfo())).body)["table"]
        assert (runtime["arrivalFailures"], runtime["taskFailures"]) == ("1", "0")


async def test_a_taken_port_stops_the_start_and_frees_the_directory(tmp_path):
    store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        broker = Broker(BrokerSections(BrokerSettings(port=taken.getsockname()[1]), store), SystemClock())
        with pytest.raises(OSError, match="address"):
            await broker.start()
    again = Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock())
    await again.start()
    await again.stop()


async def test_the_second_port_serves_too(tmp_path):
    def free_pair():
        while True:
            with socket.create_server(("127.0.0.1", 0)) as high:
                port = high.getsockname()[1]
                try:
                    with socket.create_server(("127.0.0.1", port - 2)):
                        return port
                except OSError:
                    continue

    async def started():
        store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
        while True:
            broker = Broker(BrokerSections(BrokerSettings(port=free_pair()), store), SystemClock())
            with contextlib.suppress(OSError):  # somebody else was quicker to take one of the two
                await broker.start()
                return broker

    broker = await started()
    client = Client(SystemClock())
    try:
        host, _, port = broker.address.rpartition(":")
        for address in (broker.address, f"{host}:{int(port) - 2}"):
            answer = await client.invoke(address, GetTopicConfig(topic="TBW102"))
            assert answer.code == 0
    finally:
        await client.close()
        await broker.stop()


async def test_a_name_server_that_is_away_does_not_stop_the_start(tmp_path):
    store = StoreSettings(directory=tmp_path, disk_limits=False, **SMALL)
    settings = BrokerSettings(port=0, nameservers=("127.0.0.1:1",))
    broker = Broker(BrokerSections(settings, store), SystemClock())
    await broker.start()
    await broker.stop()


async def until(condition):
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.001)


async def test_offsets_are_saved_behind_the_messages_that_they_speak_of():
    async with ClusterScene(
        topics={"t": 2}, store={"flush_thorough_ms": 60_000, "flush_pages_min": 1000}
    ) as world:
        saved = world.cluster.directory / "broker-a/config/consumerOffset.json"
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        for _ in range(20):
            await world.client.ok_send("t", KEY)
        fields = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        await world.client.ok(UpdateConsumerOffset(commit_offset=20, **fields))
        stored_to = world.store.log.max_offset
        assert world.store.log.flushed_offset < stored_to, "a power cut now would take some of them"
        await world.clock.aadvance(5)
        await until(saved.exists)
        assert world.store.log.flushed_offset >= stored_to
        assert loads(saved.read_bytes())["offsetTable"] == {"t@g": {"0": 20}}


async def test_progress_that_cannot_be_trusted_is_not_saved(caplog):
    async with ClusterScene(
        topics={"t": 2}, store={"flush_thorough_ms": 60_000, "flush_pages_min": 1000}
    ) as world:
        saved = world.cluster.directory / "broker-a/config/consumerOffset.json"
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        await world.client.ok_send("t", KEY)
        fields = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        await world.client.ok(UpdateConsumerOffset(commit_offset=1, **fields))
        world.store.refusals.durability.lost("commitlog/0", OSError(5, "Input/output error"))
        await world.clock.aadvance(10)
        await world.settle()
        assert "progress is not saved any more" in caplog.text
        await world.cluster.stop_broker()
        assert not saved.exists()
        assert (world.cluster.directory / "broker-a/abort").exists()


async def test_a_group_behind_the_end_of_a_queue_goes_on_there_and_misses_nothing_new(caplog):
    async with ClusterScene(topics={"t": 2}) as world:
        config = world.cluster.directory / "broker-a/config/consumerOffset.json"
        await world.client.heartbeat("g", SubscriptionData(topic="t"))
        for _ in range(2):
            await world.client.ok_send("t", KEY)
        fields = {"consumer_group": "g", "topic": "t", "queue_id": 0}
        await world.client.ok(UpdateConsumerOffset(commit_offset=2, **fields))
        await world.cluster.stop_broker()
        offsets = '{"offsetTable":{"t@g":{0:20,1:3},"gone@g":{0:7},"%LMQ%x@g":{0:9},"t@ahead":{0:-1}}}'
        config.write_text(offsets)
        await world.cluster.start_broker()
        saved = loads(config.read_bytes())["offsetTable"]
        assert saved == {
            "t@g": {"0": 2, "1": 0}, "gone@g": {"0": 0}, "%LMQ%x@g": {"0": 9}, "t@ahead": {"0": -1},
        }  # fmt: skip
        assert "groups stood behind messages that a crash took" in caplog.text
        for _ in range(3):
            await world.client.ok_send("t", KEY)
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        assert (await world.client.ok(QueryConsumerOffset(**fields))).ext == {"offset": "2"}


async def test_a_broker_that_cannot_save_corrected_progress_does_not_start():
    async with ClusterScene(topics={"t": 2}) as world:
        config = world.cluster.directory / "broker-a/config/consumerOffset.json"
        await world.cluster.stop_broker()
        config.write_text('{"offsetTable":{"t@g":{0:20}}}')
        (config.parent / "consumerOffset.json.tmp").mkdir()
        with pytest.raises(StoreError, match=r"corrected progress cannot be saved below .*config"):
            await world.cluster.start_broker()
        (config.parent / "consumerOffset.json.tmp").rmdir()
        await world.cluster.start_broker()
