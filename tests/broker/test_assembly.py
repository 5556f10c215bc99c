"""What a broker is made of besides its services: who serves what, and who hears of services."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from mqframe_pop.requests import PopMessage
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.admin.dispatch_lag import DispatchLag
from mqframe.broker.assembly import make_parts
from mqframe.broker.cluster.heartbeats import HeartbeatProcessor
from mqframe.broker.cluster.registration import NameServerRegistration
from mqframe.broker.consuming.processor import PullProcessor
from mqframe.broker.sections import BrokerSections
from mqframe.broker.sending.processor import SendProcessor
from mqframe.broker.service import BrokerPart
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.broker.store_opening import StoreOpening
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.requests import Request
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, InvokeBrokerToResetOffset
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.requests.serving import Call, handlers_of
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import BrokerService, PendingRecord, SendRule
from mqframe.hooks.manager import PluginManager
from mqframe.net.client import Client
from mqframe.store.settings import StoreSettings


class Names(SendRule):
    """Notes which messages it is asked about, in `order`, and refuses what says so."""

    names = None

    def __init__(self, name: str, order: list[tuple[str, str]]) -> None:
        self.name = name
        self.order = order

    def before(self, record: PendingRecord) -> None:
        self.order.append((self.name, record.topic))
        if record.properties.get("SAY") == self.name:
            raise Refusal(16, f"refused by {self.name}")


class Service(BrokerPart):
    """A service of the kernel with a rule for sends and a counter."""

    def __init__(self, name: str, order: list[tuple[str, str]]) -> None:
        self.name = name
        self.rule = Names(name, order)
        self.resets: list[tuple[str, str, int]] = []

    def send_rules(self) -> Sequence[SendRule]:
        return (self.rule,)

    def counters(self) -> dict[str, str]:
        return {f"{self.name}Count": "7"}

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        self.resets.append((group, topic, queue_id))


class Parts:
    """The parts of a broker with `services`, and topic `t` of two queues."""

    def __init__(self, directory: Path, *services: BrokerService) -> None:
        self.clock = ManualClock()
        store = StoreSettings(directory=directory, commit_log_file_bytes=1 << 20, disk_limits=False)
        plugins = PluginManager(list)
        plugins.block("broker_service.delay_levels")
        settings = BrokerSettings(host="127.0.0.1")
        self.state = BrokerState(
            BrokerSections(settings, store), self.clock, StoreOpening(lambda *arrival: None), plugins
        )
        state = self.state
        state.topics.put(TopicConfig(topic_name="t", read_queue_nums=2, write_queue_nums=2))
        state.groups.put(SubscriptionGroupConfig(group_name="g"))
        registration = NameServerRegistration(
            Client(self.clock), self.clock, state.live, state.identity, state.topics
        )
        self.made = make_parts(state, registration, services)
        self.handlers = handlers_of(*(each for part in self.made for each in part.serving()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.state.keeper.close()
        await self.state.store.stop()

    async def ask(self, request: Request, body: bytes = b"") -> Any:
        frame = Frame(request.CODE, 1, 0, None, encode_fields(request), body=body)
        peer: Any = SimpleNamespace(address="10.0.0.7:4000", closed=False)
        answer = self.handlers[request.CODE](Call(frame, peer, 0.0))
        return await answer if inspect.isawaitable(answer) else answer


def send_of(properties: str = "", queue_id: int = 0) -> SendMessageV2:
    """A send to topic `t`."""
    return SendMessageV2(
        producer_group="p", topic="t", default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=queue_id, sys_flag=0, born_timestamp=5, flag=0, properties=properties,
    )  # fmt: skip


async def test_each_kind_of_request_has_one_part_and_services_are_not_among_them(tmp_path: Path) -> None:
    service = Service("one", [])

    async with Parts(tmp_path / "broker", service) as parts:
        served = [set(handlers_of(*part.serving())) for part in parts.made]
        assert sum(map(len, served)) == len(set().union(*served)) == len(parts.handlers)
        kinds = [type(part) for part in parts.made]
        assert len(kinds) == len(set(kinds))
        for kind in (SendProcessor, PullProcessor, HeartbeatProcessor, DispatchLag):
            assert kinds.count(kind) == 1
        assert {SendMessageV2.CODE, PullMessage.CODE, HeartBeat.CODE} <= set(parts.handlers)
        assert PopMessage.CODE not in parts.handlers, "that is a service's"
        assert service not in parts.made


async def test_rules_of_all_services_are_asked_in_order_and_what_is_stored_gets_a_key(tmp_path: Path) -> None:
    order: list[tuple[str, str]] = []

    async with Parts(tmp_path / "broker", Service("one", order), Service("two", order)) as parts:
        await parts.ask(send_of("KEYS\x01k\x02"), b"body")
        assert order == [("one", "t"), ("two", "t")]
        refused = await parts.ask(send_of("SAY\x01one\x02"), b"body")
        assert (refused.code, refused.remark) == (16, "refused by one")
        assert order[2:] == [("one", "t")]
        parts.state.store.dispatch.now()
        found = parts.state.store.reads.get("t", 0, 0, 9)
        [message] = [message for part in found.parts for message in decode_records(part)]
        assert (message.body, message.properties["KEYS"]) == (b"body", "k")
        assert message.properties["UNIQ_KEY"].startswith("7F000001"), "made at the broker's own address"


@pytest.mark.parametrize(("properties", "code"), [("DELAY\x013\x02", 1), ("TRAN_MSG\x01true\x02", 16)])
async def test_what_would_wait_for_a_service_that_is_not_there_is_refused(
    properties: str, code: int, tmp_path: Path
) -> None:
    async with Parts(tmp_path / "broker") as parts:
        assert (await parts.ask(send_of(properties), b"body")).code == code
        assert parts.state.store.log.max_offset == 0


async def test_services_hear_of_a_reset(tmp_path: Path) -> None:
    one, two = Service("one", []), Service("two", [])

    async with Parts(tmp_path / "broker", one, two) as parts:
        for _ in range(3):
            await parts.ask(send_of(queue_id=1), b"body")
        parts.state.store.dispatch.now()
        reset = InvokeBrokerToResetOffset(
            topic="t", group="g", timestamp=0, is_force=True, queue_id=1, offset=2
        )
        await parts.ask(reset)
        assert one.resets == two.resets == [("g", "t", 1)]


async def test_operators_see_the_counters_of_all_services(tmp_path: Path) -> None:
    async with Parts(tmp_path / "broker", Service("one", []), Service("two", [])) as parts:
        shown = (await parts.ask(GetBrokerRuntimeInfo())).table
        assert (shown["oneCount"], shown["twoCount"]) == ("7", "7")
