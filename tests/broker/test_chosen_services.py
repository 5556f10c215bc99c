"""Which services a broker has, and what is loaded and refused without one."""

import subprocess
import sys

import pytest
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.broker.chosen_services import BUILT_IN, service_names
from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import SettingError
from mqframe.core.requests.replies import SendReplyMessageV2
from mqframe.hooks.manager import PluginManager

COMPILED = "speedups"
"""The one that is installed only where somebody has built it."""
INSTALLED = tuple(
    name for name in BUILT_IN if name != COMPILED or name in PluginManager().names("broker_service")
)


def names(**settings):
    return service_names(BrokerSettings(**settings), PluginManager())


def test_a_broker_has_its_own_services_then_those_that_are_named():
    assert [name for name in names() if name != COMPILED] == [
        "transactions",
        "delay_levels",
        "delay",
        "pop",
        "request_reply",
        "admin",
        "index",
        "assignment",
    ]
    assert names(services=("mine", "pop")) == [*INSTALLED, "mine"]


def test_each_of_its_own_can_be_left_out():
    for name in BUILT_IN:
        assert names(services_blocked=(name,)) == [each for each in INSTALLED if each != name]
    assert names(services_blocked=BUILT_IN, services=("mine",)) == ["mine"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"services_blocked": ("pops",)},
            "blocked = pops: .*transactions, delay_levels, delay, pop, request_reply, admin",
        ),
        (
            {"services_blocked": ("pop",), "services": ("pop",)},
            "pop is in broker.services and in broker.services_blocked",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings, problem):
    with pytest.raises(SettingError, match=problem):
        names(**settings)


async def test_without_a_service_what_it_serves_is_refused():
    async with ClusterScene(topics={"t": 2}, broker={"services_blocked": BUILT_IN}) as world:
        await world.client.ok_send("t")
        for properties, code in (
            ("DELAY\x013\x02", ResponseCode.SYSTEM_ERROR),
            ("TIMER_DELAY_MS\x013\x02", ResponseCode.SYSTEM_ERROR),
            ("TRAN_MSG\x01true\x02", ResponseCode.NO_PERMISSION),
        ):
            assert (await world.client.send("t", properties=properties)).code == code
        reply = SendReplyMessageV2(
            topic="t", producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
            sys_flag=0, born_timestamp=0, flag=0,
        )  # fmt: skip
        assert (await world.client.invoke(reply, b"x")).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert [world.store.queues.max_offset("t", queue_id) for queue_id in (0, 1)] == [1, 0]


ROOMS = {
    "pop": "mqframe_pop",
    "delay_levels": "mqframe.broker.delay_levels",
    "delay": "mqframe_delay",
    "transactions": "mqframe_transactions",
    "request_reply": "mqframe_request_reply",
    "admin": "mqframe_admin.broker",
    "index": "mqframe_index",
    "assignment": "mqframe_assignment",
    COMPILED: "mqframe_speedups",
}
"""Where each service is."""
_STARTS = """
import asyncio, sys
from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster

async def serve():
    async with AsyncCluster(broker={"services_blocked": BLOCKED}) as cluster:
        async for _ in BrokerSource(cluster.broker).families():
            pass

BLOCKED = tuple(sys.argv[1:])
asyncio.run(serve())
print(*(name for name in sys.modules if name.startswith("mqframe")))
"""


@pytest.mark.parametrize("blocked", [BUILT_IN, *((name,) for name in INSTALLED)])
def test_nothing_is_loaded_of_what_is_left_out(blocked):
    loaded = subprocess.run(
        [sys.executable, "-c", _STARTS, *blocked], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "mqframe.broker.sending.processor" in loaded
    has = {name: any(f"{each}.".startswith(f"{ROOMS[name]}.") for each in loaded) for name in INSTALLED}
    assert has == {name: name not in blocked for name in INSTALLED}
