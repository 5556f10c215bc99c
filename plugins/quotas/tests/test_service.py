"""The service in its broker: what it declares, what operators ask, what it shows."""

from __future__ import annotations

import asyncio
from typing import Any

from mqframe_quotas.bodies import QuotaLeft
from mqframe_quotas.requests import DeleteQuota, SetQuota, ShowQuota
from mqframe_quotas.rules.limits import Quota
from mqframe_quotas.service import Quotas
from mqframe_testing.conformance import BrokerServiceConformance
from quota_worlds import Guest, states, world

from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import BrokerPort, BrokerService
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl


class TestQuotas(BrokerServiceConformance):
    """The suite of all services."""

    def make(self, port: BrokerPort) -> Quotas:
        return Quotas(port)


async def test_what_is_no_quota_is_refused() -> None:
    async with world(quotas_max=1) as scene:

        async def put(quota: Quota) -> tuple[int, str | None]:
            answer = await scene.client.invoke(SetQuota(), loose_json.dumps(quota))
            return answer.code, answer.remark

        code, remark = await put(Quota(kind="topic", name="t", connections=3))
        assert (code, remark) == (
            29,
            "connections cannot be limited by topic; these can: send_bytes, send_messages, read_bytes,"
            " read_messages",
        )
        assert await put(Quota(kind="topic", name="t", send_bytes=3)) == (0, None)
        assert await put(Quota(kind="topic", name="t", send_bytes=4)) == (0, None)
        assert await put(Quota(kind="topic", name="u", send_bytes=3)) == (
            29,
            "broker broker-a has 1 quotas, no more are allowed (quotas.quotas_max); delete some",
        )
        answer = await scene.client.invoke(DeleteQuota(kind="user", name="t"))
        assert (answer.code, answer.remark) == (
            22,
            "no quota of user t was set at broker broker-a; those that were: topic:t; what settings say is"
            " changed there (quotas.limits)",
        )
        answer = await scene.client.invoke(ShowQuota(kind="tenant", name="t"))
        assert answer.code == 29


async def test_one_sees_what_is_left() -> None:
    async with world("user:* send_messages=3 connections=2") as scene:
        guest = Guest(scene, "alice")
        await guest.send()
        answer = await scene.client.ok(ShowQuota(kind="user", name="alice"))
        shown = loose_json.decode(bytes(answer.body), QuotaLeft)
        assert shown.quota == Quota(kind="user", name="*", send_messages=3, connections=2)
        assert shown.left == {"send_messages": 2, "connections": 1}
        assert (await states(scene))["user:*"][2] == {"connections": 1, "in_flight": 0}
        guest.peer.close("it leaves")
        assert (await states(scene))["user:*"][2] == {"connections": 0, "in_flight": 0}


async def test_settings_that_change_hold_at_once() -> None:
    async with world() as scene:
        alice = Guest(scene, "alice")
        assert [(await alice.send()).code for _ in range(5)] == [0] * 5
        change = scene.cluster.broker.service_port.administration.settings.change
        assert list(change("quotas.limits=user:* send_messages=1")) == ["quotas.limits"]
        assert [(await alice.send()).code for _ in range(2)] == [0, 2]


async def test_operators_and_monitoring_see_what_happens() -> None:
    async with world("user:* send_messages=1", "group:g read_messages=1") as scene:
        alice = Guest(scene, "alice")
        assert [(await alice.send()).code for _ in range(3)] == [0, 2, 2]
        await scene.settle()
        await scene.client.pull("orders", 0)
        held = asyncio.ensure_future(scene.client.pull("orders", 0))
        await scene.settle()
        broker = scene.cluster.broker
        service = broker.part(Quotas)
        assert service.counters() == {"quotas": "2", "quotasThrottled": "3", "quotasHeldReads": "1"}
        shown = {family.name: dict(family.series) for family in await service.metrics()}
        assert shown["mqframe_quota_throttled_total"] == {
            ("group", "g", "read_messages"): 1,
            ("user", "*", "send_messages"): 2,
        }
        held.cancel()


class ShorterWay:
    """A `FramePath` that leaves everything to others; `asked`: how often."""

    asked = 0

    def may_take(self, data: bytes, start: int) -> bool:
        return len(data) > start

    def take(self, data: bytes, start: int, peer: Any, received: float) -> None:
        self.asked += 1

    def take_one(self, request: Any, body: Any, peer: Any, received: float) -> None:
        self.asked += 1

    def enforce(self, who: Any, what: Any) -> bool:
        return True


async def test_the_shorter_way_is_taken_while_there_are_no_quotas() -> None:
    way = ShorterWay()

    class Another(BrokerService):
        def __init__(self, port: Any) -> None:
            """It needs nothing of `port`."""

        def frame_path(self, sends: Any, pulls: Any) -> ShorterWay:
            return way

    class Plugin:
        @hookimpl
        def register_broker_services(self) -> dict[str, Any]:
            return {"another": Another}

    plugins = PluginManager()
    plugins.register(Plugin())
    async with world(plugins=plugins) as scene:
        guest = Guest(scene, "alice")

        async def send() -> int:
            way.asked = 0
            assert (await scene.client.send("orders")).code == 0
            assert (await guest.send()).code == 0
            return way.asked

        assert await send() == 2
        await scene.client.ok(SetQuota(), loose_json.dumps(Quota(kind="user", name="bob", send_bytes=9)))
        assert await send() == 0
        await scene.client.ok(DeleteQuota(kind="user", name="bob"))
        assert await send() == 2
