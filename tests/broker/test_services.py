"""Services of plugins in a broker: what they declare is asked for, told and saved."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from mqframe_pop.requests import PopMessage
from mqframe_testing.cluster import SMALL_STORE
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.services import make_services
from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.config.programs import STANDARD_SERVICES
from mqframe.core.errors import PluginError, Refusal
from mqframe.core.messages.batch import encode_element
from mqframe.core.requests.admin import GetBrokerRuntimeInfo
from mqframe.core.requests.fields import Request
from mqframe.core.requests.messages import (
    ConsumerSendMsgBack,
    EndTransaction,
    SendBatchMessage,
    SendMessageV2,
)
from mqframe.core.requests.serving import Reply, serves
from mqframe.core.storage.stored import Stored, StoredBatch
from mqframe.core.wire.bodies import Body, KVTable
from mqframe.core.wire.loose_json import decode
from mqframe.hooks.interfaces import (
    EVERY_TOPIC,
    BrokerService,
    PendingRecord,
    Periodic,
    SavedTable,
    SendRule,
    StoredAt,
)
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl
from mqframe.net.clock import SystemClock
from mqframe.store.settings import StoreSettings


class AskCount(Request):
    """How many messages the service saw."""

    CODE: ClassVar[int] = 31_999


class Counted(Body):
    """What is saved."""

    count: int = 0


class Counter:
    """A table of one number."""

    def __init__(self) -> None:
        self.changes = 0
        self.count = 0

    def dump(self) -> Counted:
        return Counted(self.count)

    def load(self, table: Counted) -> None:
        self.count = table.count


class Marks(SendRule):
    """Does to messages with the property MARK what it says."""

    names = frozenset({"MARK"})
    batches = True

    def __init__(self) -> None:
        self.first: StoredAt | None = None
        self.told: list[tuple[str, StoredAt]] = []

    def before(self, record: PendingRecord) -> StoredAt | None:
        mark = record.properties.get("MARK", "")
        if mark == "refuse":
            raise Refusal(ResponseCode.NO_PERMISSION, "refused by a rule")
        if mark == "break":
            raise RuntimeError("a bug")
        if mark == "divert":
            record.topic, record.queue_id = "u", 1
        if mark == "change":
            record.properties["CHANGED"] = "yes"
        if mark == "again":
            record.answer["transactionId"] = "first"
            return self.first
        return None

    def after(self, record: PendingRecord, result: StoredAt) -> None:
        self.first = self.first or result
        self.told.append((record.topic, result))
        record.answer["told"] = str(len(self.told))
        if record.properties.get("MARK") == "late break":
            raise RuntimeError("another bug")


class Everything(BrokerService):
    """Declares something of each kind."""

    made: ClassVar[list[Everything]] = []

    def __init__(self, port: Any) -> None:
        self.port = port
        self.table = Counter()
        self.rule = Marks()
        self.log: list[str] = []
        self.arrived: list[tuple[str, int, int]] = []
        Everything.made.append(self)

    @serves(AskCount)
    def count(self, fields: AskCount, call: Any) -> Reply:
        return Reply(ext={"count": str(self.table.count)})

    def periodic(self) -> list[Periodic]:
        return [Periodic(7.0, lambda: self.log.append("tick"), "ticks")]

    def arrivals(self) -> dict[str, Any]:
        return {"t": self._arrived}

    def _arrived(self, topic: str, queue_id: int, end: int, codes: Any) -> None:
        self.arrived.append((topic, queue_id, end))
        self.table.count += len(codes)
        self.table.changes += 1

    def send_rules(self) -> list[SendRule]:
        return [self.rule]

    def tables(self) -> list[SavedTable]:
        return [SavedTable("everything.json", Counted, self.table)]

    def counters(self) -> dict[str, str]:
        return {"everythingCount": str(self.table.count)}

    async def start(self) -> None:
        self.log.append(f"start at {self.table.count}")

    async def stop(self) -> None:
        self.log.append("stop")


@pytest.fixture
def options() -> dict[str, Any]:
    """Of a broker with the service; `Everything.made` has those that were made."""

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"everything": Everything}

    Everything.made.clear()
    plugins = PluginManager()
    plugins.register(Plugin())
    return {"plugins": plugins, "broker": {"services": ("everything",)}}


async def test_it_serves_requests_is_told_of_its_topic_and_shows_itself(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.cluster.create_topic("u", 2)
        for topic in ("t", "u", "t"):
            await world.client.ok_send(topic, queue_id=1)
        await world.settle()
        (service,) = Everything.made
        assert service.arrived == [("t", 1, 1), ("t", 1, 2)]
        assert (await world.client.ok(AskCount())).ext == {"count": "2"}
        shown = decode(memoryview((await world.client.ok(GetBrokerRuntimeInfo())).body), KVTable).table
        assert shown["everythingCount"] == "2"
        await world.clock.aadvance(15)
        assert service.log == ["start at 0", "tick", "tick"]
        assert service.port.reader.queue_max("t", 1) == 2


async def test_its_tables_are_saved_and_loaded_before_it_starts(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.client.ok_send("t")
        await world.settle()
        await world.cluster.restart_broker()
        first, second = Everything.made
        assert first.log == ["start at 0", "stop"]
        assert second.log == ["start at 1"]


async def test_its_rule_changes_diverts_and_refuses_messages(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.cluster.create_topic("u", 2)
        await world.client.ok_send("t", "MARK\x01change\x02")
        await world.client.ok_send("t", "MARK\x01divert\x02")
        refused = await world.client.send("t", properties="MARK\x01refuse\x02")
        assert (refused.code, refused.remark) == (ResponseCode.NO_PERMISSION, "refused by a rule")
        broken = await world.client.send("t", properties="MARK\x01break\x02")
        assert broken.code == ResponseCode.SYSTEM_ERROR
        late = await world.client.ok_send("t", "MARK\x01late break\x02")
        assert late.ext["told"] == "3"
        (service,) = Everything.made
        reader = service.port.reader
        kept = await reader.read("t", 0, 0, 32)
        assert [each.properties.get("CHANGED") for each in kept] == ["yes", None]
        assert [each.properties["MARK"] for each in await reader.read("u", 1, 0, 32)] == ["divert"]
        assert [topic for topic, _ in service.rule.told] == ["t", "u", "t"]


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
async def test_its_rule_answers_with_an_earlier_result(options: dict[str, Any], flush: str) -> None:
    async with ClusterScene(topics={"t": 2}, store={"flush": flush}, **options) as world:
        first = await world.client.ok_send("t", "MARK\x01x\x02UNIQ_KEY\x01k\x02", queue_id=1)
        again = await world.client.ok_send("t", "MARK\x01again\x02UNIQ_KEY\x01l\x02", queue_id=0)
        told = ("msgId", "queueId", "queueOffset")
        assert [again.ext[name] for name in told] == [first.ext[name] for name in told]
        assert again.ext["transactionId"] == "first"
        assert (world.store.queues.max_offset("t", 0), world.store.queues.max_offset("t", 1)) == (0, 1)


async def test_its_rule_sees_batches(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        fields = {
            "producer_group": "p", "topic": "t", "default_topic": "TBW102", "default_topic_queue_nums": 4,
            "queue_id": 0, "sys_flag": 0, "born_timestamp": 1, "flag": 0, "batch": True,
        }  # fmt: skip
        marked = encode_element(b"one", b"MARK\x01x\x02") + encode_element(b"two", b"")
        answer = await world.client.ok(SendBatchMessage(properties="", **fields), marked)
        assert answer.ext["told"] == "1"
        (service,) = Everything.made
        ((topic, result),) = service.rule.told
        assert topic == "t"
        assert isinstance(result.stored, StoredBatch)
        assert (result.queue_id, result.stored.queue_offset, len(result.stored.offsets)) == (0, 0, 2)
        plain = encode_element(b"three", b"")
        assert "told" not in (await world.client.ok(SendBatchMessage(properties="", **fields), plain)).ext
        again = await world.client.ok(SendBatchMessage(properties="MARK\x01again\x02", **fields), plain)
        assert again.ext["msgId"] == answer.ext["msgId"]
        assert world.store.queues.max_offset("t", 0) == 3


async def test_ordinary_messages_pass_its_rule_by(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        await world.client.ok_send("t", "UNIQ_KEY\x01k\x02TAGS\x01a\x02")
        await world.client.ok_send("t", "MARK\x01x\x02UNIQ_KEY\x01l\x02")
        (service,) = Everything.made
        ((_, result),) = service.rule.told
        assert isinstance(result.stored, Stored)
        assert (result.queue_id, result.stored.queue_offset) == (0, 1)


async def test_a_service_that_is_not_there_stops_the_broker() -> None:
    with pytest.raises(PluginError, match="no broker_service 'nowhere'"):
        async with ClusterScene(topics={"t": 2}, broker={"services": ("nowhere",)}):
            raise AssertionError("the broker started")


def with_service(made: type[BrokerService]) -> dict[str, Any]:
    """Options of a broker with the service `made`."""

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"mine": made}

    plugins = PluginManager()
    plugins.register(Plugin(), "mine")
    return {"plugins": plugins, "broker": {"services": ("mine",)}}


class Failing(Everything):
    """Fails whenever it is called while the broker runs."""

    def _arrived(self, *arguments: Any) -> None:
        raise RuntimeError("a bug in arrivals")

    def counters(self) -> dict[str, str]:
        raise RuntimeError("a bug in counters")

    async def stop(self) -> None:
        raise RuntimeError("a bug in stop")


async def test_a_failing_service_harms_no_other(caplog: Any) -> None:
    async with ClusterScene(topics={"t": 2}, **with_service(Failing)) as world:
        await world.cluster.create_topic("u", 1)
        held = asyncio.ensure_future(world.client.pull("u", sys_flag=6))
        await world.settle()
        # Both are dispatched in one turn, that of the failing topic first.
        await asyncio.gather(world.client.ok_send("t"), world.client.ok_send("u"))
        await world.settle()
        assert held.done()
        assert (await held).code == ResponseCode.SUCCESS
        shown = decode(memoryview((await world.client.ok(GetBrokerRuntimeInfo())).body), KVTable).table
        assert shown["msgPutTotalTodayNow"] == "2"
        await world.cluster.restart_broker()
        assert world.store.queues.max_offset("t", 0) == 1
    for call in ("arrivals", "counters", "stop"):
        assert f"a bug in {call}" in caplog.text


async def test_a_service_hides_no_counter_of_the_broker() -> None:
    class Boasting(Everything):
        def counters(self) -> dict[str, str]:
            return {"msgPutTotalTodayNow": "1000000", "boasted": "yes"}

    async with ClusterScene(topics={"t": 2}, **with_service(Boasting)) as world:
        shown = decode(memoryview((await world.client.ok(GetBrokerRuntimeInfo())).body), KVTable).table
        assert (shown["msgPutTotalTodayNow"], shown["boasted"]) == ("0", "yes")


class Thief(Everything):
    """Serves a request of the broker's."""

    @serves(GetBrokerRuntimeInfo)
    def steal(self, fields: GetBrokerRuntimeInfo, call: Any) -> Reply:
        return Reply()


class Overwriting(Everything):
    """Saves what the broker saves."""

    def tables(self) -> list[SavedTable]:
        return [SavedTable("topics.json", Counted, self.table)]


class Keeping(Everything):
    """Keeps messages for a given time, as the timer does."""

    def place_in_time(self) -> Any:
        return lambda topic, queue_id, properties, wanted, now: ("u", 1)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Thief, "GetBrokerRuntimeInfo is served twice"),
        (Overwriting, "broker_service 'mine' saves topics.json; another table is in it"),
        (Keeping, "broker_service 'mine' keeps messages for a time; another one does, too"),
        (dict, "plugin mine cannot be made: TypeError"),
    ],
)
async def test_a_service_that_does_not_fit_leaves_the_directory_free(
    made: Any, message: str, tmp_path: Path
) -> None:
    store = StoreSettings(directory=tmp_path, **SMALL_STORE)

    with pytest.raises(PluginError, match=message):
        Broker(
            BrokerSections(BrokerSettings(port=0, services=("mine",)), store),
            SystemClock(),
            plugins=with_service(made)["plugins"],
        )
    again = Broker(BrokerSections(BrokerSettings(port=0), store), SystemClock())
    await again.start()
    await again.stop()


_KNOWS = """
import sys
from types import SimpleNamespace

from mqframe.broker.services import make_services
from mqframe.broker.settings import BrokerSettings
from mqframe.core.requests.fields import REQUESTS
from mqframe.hooks.manager import PluginManager

state = SimpleNamespace(plugins=PluginManager())
settings = BrokerSettings(services_blocked=("admin", "assignment", *sys.argv[1:]))
assert make_services(state, settings, at_slave=True) == []
print(200050 in REQUESTS)
"""


@pytest.mark.parametrize(("blocked", "knows"), [((), "True"), (("pop",), "False")])
def test_who_runs_no_services_knows_the_requests_of_those_that_there_would_be(
    blocked: tuple[str, ...], knows: str
) -> None:
    command = [sys.executable, "-c", _KNOWS, *blocked]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == knows


@pytest.mark.parametrize("everywhere", [True, False])
async def test_slaves_run_the_services_that_say_so(everywhere: bool) -> None:
    class Mine(BrokerService):
        at_slaves = everywhere

        def __init__(self, port: Any) -> None:
            self.port = port

    async with ClusterScene(topics={"t": 2}, plugins=with_service(Mine)["plugins"]) as world:
        state = world.cluster.broker._state
        settings = BrokerSettings(services=("mine",), services_blocked=STANDARD_SERVICES)
        found = [type(each) for each in make_services(state, settings, at_slave=True)]
        assert found == ([Mine] if everywhere else [])
        (made,) = make_services(state, settings)
        assert made.port is state


async def test_a_service_of_the_kernel_can_be_blocked() -> None:
    plugins = PluginManager()
    plugins.block("broker_service.pop")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        request = PopMessage(
            consumer_group="g", topic="t", queue_id=-1, max_msg_nums=1, invisible_time=1000, poll_time=0,
            born_time=0, init_mode=0,
        )  # fmt: skip
        assert (await world.client.invoke(request)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        await world.client.ok_send("t", "DELAY\x011\x02")
        await world.clock.aadvance(2)
        assert world.store.queues.max_offset("t", 0) == 1


async def test_what_would_wait_for_a_blocked_service_is_refused() -> None:
    plugins = PluginManager()
    for name in ("delay", "delay_levels", "transactions"):
        plugins.block(f"broker_service.{name}")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        for properties, code in [
            ("DELAY\x013\x02", ResponseCode.SYSTEM_ERROR),
            ("TIMER_DELAY_SEC\x015\x02", ResponseCode.SYSTEM_ERROR),
            ("TRAN_MSG\x01true\x02", ResponseCode.NO_PERMISSION),
            ("TRAN_MSG\x01true\x02DELAY\x013\x02", ResponseCode.NO_PERMISSION),
            ("TRAN_MSG\x01false\x02", ResponseCode.SUCCESS),
            ("DELAY\x010\x02", ResponseCode.SUCCESS),
        ]:
            sent = await world.client.send("t", properties=properties)
            assert (properties, sent.code) == (properties, code)
        await world.settle()
        assert world.store.queues.max_offset("t", 0) == 2
        back = await world.client.invoke(ConsumerSendMsgBack(group="g", offset=0, delay_level=3))
        assert (back.code, back.remark) == (
            ResponseCode.SYSTEM_ERROR,
            "this broker delivers no delayed messages: it has no service delay_levels",
        )
        end = EndTransaction(
            producer_group="p",
            tran_state_table_offset=0,
            commit_log_offset=0,
            commit_or_rollback=8,
            msg_id="m",
        )
        assert (await world.client.invoke(end)).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_a_delayed_half_is_refused_where_nobody_would_deliver_it() -> None:
    plugins = PluginManager()
    for name in ("delay", "delay_levels"):
        plugins.block(f"broker_service.{name}")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        for delay in ("DELAY\x013\x02", "TIMER_DELAY_SEC\x013\x02"):
            sent = await world.client.send("t", properties=f"TRAN_MSG\x01true\x02{delay}")
            assert sent.code == ResponseCode.SYSTEM_ERROR
        await world.client.ok_send("t", "TRAN_MSG\x01true\x02")


async def test_a_service_may_keep_what_asks_for_a_time_in_place_of_the_timer() -> None:
    options = with_service(Keeping)
    options["plugins"].block("broker_service.delay")

    async with ClusterScene(topics={"t": 2}, **options) as world:
        (keeping,) = Everything.made[-1:]
        put = keeping.port.writer.put
        put("t", 0, b"later", {"TIMER_DELAY_SEC": "5"}, born_timestamp=world.clock.now_ms())
        put("t", 0, b"level", {"DELAY": "1", "TIMER_DELAY_SEC": "5"}, born_timestamp=world.clock.now_ms())
        await world.settle()
        assert world.store.queues.max_offset("u", 1) == 1
        assert world.store.queues.max_offset("SCHEDULE_TOPIC_XXXX", 0) == 1


async def test_a_service_may_want_to_be_told_of_every_topic(options: dict[str, Any]) -> None:
    class All(Everything):
        def arrivals(self) -> dict[str, Any]:
            return {EVERY_TOPIC: self._arrived}

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"all": All}

    options["plugins"].register(Plugin(), "all")

    async with ClusterScene(topics={"t": 2}, **{**options, "broker": {"services": ("all",)}}) as world:
        await world.cluster.create_topic("u", 1)
        await world.client.ok_send("u")
        await world.settle()
        assert Everything.made[0].arrived == [("u", 0, 1)]


async def test_messages_may_be_written_through_the_port(options: dict[str, Any]) -> None:
    async with ClusterScene(topics={"t": 2}, **options) as world:
        (service,) = Everything.made
        port = service.port
        port.topics.ensure("made", 1)
        stored = port.writer.put("made", 0, b"body", {"KEYS": "k"}, born_timestamp=port.clock.now_ms())
        await world.settle()
        (message,) = await port.reader.read("made", 0, 0, 1)
        assert (message.body, message.commit_log_offset) == (b"body", stored.commit_log_offset)
        assert port.identity.name == "broker-a"
        runs: list[int] = []

        async def work() -> None:
            runs.append(port.clock.now_ms())

        port.due_task(work, "work").ring_in(1000)
        await world.clock.aadvance(2)
        assert len(runs) == 1


class Around(BrokerService):
    """Refuses every other send, and leaves the shorter way to nobody."""

    def __init__(self, port: Any) -> None:
        self.seen: list[tuple[str, str]] = []
        self.path: Any = "not asked"

    def around(self, handlers: Any, path: Any) -> tuple[Any, Any]:
        self.path = path

        def send(call: Any) -> Any:
            self.seen.append((call.user, call.frame.ext["b"]))
            if len(self.seen) % 2 == 0:
                raise Refusal(ResponseCode.SYSTEM_BUSY, "every other one")
            return handlers[SendMessageV2.CODE](call)

        return {**handlers, SendMessageV2.CODE: send}, None


async def test_a_service_may_stand_around_all_requests() -> None:
    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"around": Around}

    plugins = PluginManager()
    plugins.register(Plugin())
    async with ClusterScene(topics={"t": 2}, plugins=plugins, broker={"services": ("around",)}) as world:
        codes = [(await world.client.send("t", b"%d" % n)).code for n in range(4)]
        await world.settle()
        assert codes == [0, ResponseCode.SYSTEM_BUSY] * 2
        assert world.bodies("t") == [b"0", b"2"]
        service = world.cluster.broker.part(Around)
        assert service.seen == [("", "t")] * 4
        assert service.path != "not asked"
