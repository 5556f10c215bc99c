"""Settings of a running broker: shown, changed, kept."""

import json
from datetime import UTC, datetime

import pytest
from mqframe_admin.bodies import ToldSettings
from mqframe_admin.requests import (
    ExportRocksdbConfigToJson,
    GetBrokerConfig,
    GetSettings,
    HandOverLead,
    UpdateBrokerConfig,
)
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import PluginError
from mqframe.core.messages.names import DEFAULT_TOPIC
from mqframe.core.requests.admin import GetBrokerRuntimeInfo, GetTopicConfig, UpdateAndCreateTopic
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.wire.loose_json import decode, loads
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl

KEY = "UNIQ_KEY\x01FD00AA\x02"


async def change(world, lines):
    return await world.client.invoke(UpdateBrokerConfig(), lines.encode())


async def shown(world):
    answer = await world.client.ok(GetBrokerConfig())
    return dict(line.split("=", 1) for line in bytes(answer.body).decode().splitlines())


async def test_settings_are_shown_and_changed():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), b"# comment\nautoCreateTopicEnable = false\n\n")
        answer = await world.client.ok(GetBrokerConfig())
        lines = bytes(answer.body).decode().splitlines()
        assert "autoCreateTopicEnable=false" in lines
        assert "brokerName=broker-a" in lines
        assert "flushDiskType=ASYNC_FLUSH" in lines
        assert loads(answer.ext["version"])["counter"] == 1
        assert (await world.client.send("fresh", properties=KEY)).code == 17


async def test_origins_are_told_to_who_asks():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), b"autoCreateTopicEnable=false")
        told = loads((await world.client.ok(GetBrokerConfig(origins=True))).ext["origins"])
        at = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC).isoformat(" ", "seconds")
        (said,) = told.values()
        assert said.startswith(f"changed while it ran, changedSettings.json at {at} from ")
        assert "origins" not in (await world.client.ok(GetBrokerConfig())).ext


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (b"brokerName=x", 16),
        (b"nonsense=1", 29),
        (b"autoCreateTopicEnable=perhaps", 29),
        (b"brokerPermission=99", 29),
        (b"\xff", 1),
    ],
)
async def test_settings_that_cannot_be_changed_stay(lines, code):
    async with ClusterScene(topics={"t": 2}) as world:
        body = b"autoCreateTopicEnable=false\n" + lines
        assert (await world.client.invoke(UpdateBrokerConfig(), body)).code == code
        await world.client.ok_send("fresh", KEY)


async def test_a_changed_permission_reaches_the_name_server():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.ok(UpdateBrokerConfig(), b"brokerPermission=4")
        await world.settle()
        request = GetRouteinfoByTopic(topic="t")
        answer = await world.client.client.invoke(world.cluster.nameserver, request)
        assert loads(answer.body)["queueDatas"][0]["perm"] == 4
        assert loads((await world.client.ok(GetTopicConfig(topic="t"))).body)["perm"] == 6


async def test_what_is_true_is_shown_under_the_keys_that_tools_look_for():
    async with ClusterScene(topics={"t": 2}) as world:
        table = await shown(world)
        host, _, port = world.cluster.broker.address.rpartition(":")
        assert (table["brokerIP1"], table["listenPort"]) == (host, port)
        assert (table["brokerId"], table["brokerRole"]) == ("0", "ASYNC_MASTER")
        assert table["namesrvAddr"] == world.cluster.nameserver
        assert table["storePathCommitLog"] == str(world.store.settings.directory / "commitlog")
        assert int(table["clientCallbackExecutorThreads"]) >= 1


async def test_a_change_is_kept_over_restarts_and_kills():
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await change(world, "fileReservedTime=5\nmaxMessageSize=10\nbrokerPermission=4")).code == 0
        file = world.store.settings.directory / "config/changedSettings.json"
        kept = json.loads(file.read_text())
        assert kept["settings"] == {"fileReservedTime": "5", "maxMessageSize": "10", "brokerPermission": "4"}
        assert kept["notes"].keys() == kept["settings"].keys()
        await world.cluster.kill_broker()
        await world.cluster.start_broker()
        table = await shown(world)
        assert [table[key] for key in json.loads(file.read_text())["settings"]] == ["5", "10", "4"]
        assert world.cluster.broker.store.settings.keep_hours == 5
        assert (await change(world, "brokerPermission=6")).code == 0
        await world.cluster.restart_broker()
        assert (await shown(world))["brokerPermission"] == "6"
        assert (await world.client.send("t", b"x" * 11, KEY)).code == 13
        assert (await world.client.send("t", b"x" * 10, KEY)).code == 0


async def told(world):
    answer = await world.client.ok(GetSettings())
    return {each.path: each for each in decode(bytes(answer.body), ToldSettings).settings}


async def test_each_setting_is_told_with_its_origin_and_whether_it_may_be_changed():
    async with ClusterScene(topics={"t": 2}) as world:
        before = await told(world)
        keep = before["store.keep_hours"]
        assert (keep.key, keep.value, keep.origin, keep.live, keep.changed) == (
            "fileReservedTime", "72", "default", True, False,
        )  # fmt: skip
        assert (before["broker.name"].live, before["pop.retry_percent"].live) == (False, True)
        assert before["pop.retry_percent"].is_called("broker.pop_retry_percent")
        assert (await change(world, "fileReservedTime=5")).code == 0
        after = (await told(world))["store.keep_hours"]
        assert (after.value, after.changed) == ("5", True)
        assert after.origin.startswith("changed while it ran, changedSettings.json at ")


async def test_what_is_unset_is_gone_over_a_restart_too():
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await change(world, "fileReservedTime=5\nbrokerPermission=4")).code == 0
        assert (await world.client.invoke(UpdateBrokerConfig("store.keep_hours;broker.name"))).code == 0
        assert world.cluster.broker.store.settings.keep_hours == 72
        await world.cluster.restart_broker()
        found = await told(world)
        assert (found["store.keep_hours"].value, found["store.keep_hours"].origin) == ("72", "default")
        assert (found["broker.permission"].value, found["broker.permission"].changed) == ("4", True)
        answer = await world.client.invoke(UpdateBrokerConfig("store.keep_hour"))
        assert (answer.code, "did you mean store.keep_hours" in answer.remark) == (29, True)


async def test_what_was_refused_is_not_kept():
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await change(world, "fileReservedTime=5\nbrokerName=x")).code == 16
        await world.cluster.restart_broker()
        assert (await shown(world))["fileReservedTime"] == "72"


async def test_topics_make_themselves_once_that_is_allowed():
    async with ClusterScene(topics={"t": 2}, broker={"auto_create_topics": False}) as world:
        assert (await world.client.invoke(GetTopicConfig(topic=DEFAULT_TOPIC))).code == 17
        assert (await world.client.send("fresh", properties=KEY)).code == 17
        assert (await change(world, "autoCreateTopicEnable=true")).code == 0
        assert loads((await world.client.ok(GetTopicConfig(topic=DEFAULT_TOPIC))).body)["perm"] == 7
        await world.client.ok_send("fresh", KEY)


async def test_tables_are_json_before_an_export_of_them_is_answered():
    async with ClusterScene(topics={"t": 2}) as world:
        topic = UpdateAndCreateTopic(topic="new", read_queue_nums=1, write_queue_nums=1, perm=6)
        await world.client.ok(topic)
        await world.client.ok(ExportRocksdbConfigToJson())
        saved = (world.store.settings.directory / "config/topics.json").read_text()
        assert '"topicName":"new"' in saved


@settings("greeter")
class GreeterSettings:
    """How a service greets."""

    words_max: int = setting(5, doc="words", check=at_least(1), live=True)
    place: str = setting("door", doc="where")


class Greeter(BrokerService):
    """A service with a section of settings."""

    Settings = GreeterSettings

    def __init__(self, port):
        self._settings = port.settings(GreeterSettings)

    def counters(self):
        return {"wordsMax": str(self._settings.current.words_max), "place": self._settings.current.place}


@pytest.mark.parametrize("name", ["popFromRetryProbability", "pop.retry_percent", "broker.pop_retry_percent"])
async def test_a_setting_of_a_service_is_changed_by_any_of_its_names(name):
    async with ClusterScene(topics={"t": 2}) as world:
        assert (await change(world, f"{name}=7")).code == 0
        assert (await shown(world))["popFromRetryProbability"] == "7"
        await world.cluster.restart_broker()
        assert (await shown(world))["popFromRetryProbability"] == "7"


async def test_two_values_for_one_setting_are_refused():
    async with ClusterScene(topics={"t": 2}) as world:
        answer = await change(world, "pop.retry_percent=7\nbroker.pop_retry_percent=8")
        assert answer.code == 29
        assert "pop.retry_percent and broker.pop_retry_percent are the same setting" in answer.remark


async def test_the_section_of_a_plugin_s_service_is_changed_shown_and_kept():
    class Plugin:
        @hookimpl
        def register_broker_services(self):
            return {"greeter": Greeter}

    plugins = PluginManager()
    plugins.register(Plugin(), "greeters")

    async def counters(world):
        answer = await world.client.ok(GetBrokerRuntimeInfo())
        return {
            key: value for key, value in loads(answer.body)["table"].items() if key in ("wordsMax", "place")
        }

    given = {"plugins": plugins, "broker": {"services": ("greeter",)}}
    async with ClusterScene(topics={"t": 2}, sections=[GreeterSettings(place="gate")], **given) as world:
        assert await counters(world) == {"wordsMax": "5", "place": "gate"}
        assert (await shown(world))["greeter.words_max"] == "5"
        assert (await change(world, "greeter.words_max=7")).code == 0
        assert (await change(world, "greeter.words_max=0")).code == 29
        fixed = await change(world, "greeter.place=window")
        assert (fixed.code, fixed.remark) == (16, "greeter.place can only be changed by a restart")
        await world.cluster.restart_broker()
        assert await counters(world) == {"wordsMax": "7", "place": "gate"}
        assert (await shown(world))["greeter.words_max"] == "7"


async def test_a_service_with_the_section_of_another_does_not_start():
    class Wrong(Greeter):
        Settings = GreeterSettings

    class Plugin:
        @hookimpl
        def register_broker_services(self):
            return {"other": Wrong}

    plugins = PluginManager()
    plugins.register(Plugin(), "others")

    with pytest.raises(PluginError, match="other: its Settings are the section greeter"):
        async with ClusterScene(topics={"t": 2}, plugins=plugins, broker={"services": ("other",)}):
            raise AssertionError("it started")


async def test_a_broker_of_no_group_has_no_lead_to_hand_over():
    async with ClusterScene(topics={"t": 1}) as world:
        answer = await world.client.invoke(HandOverLead(2))
        assert answer.code == 1
        assert "this broker is of no group that elects its leader" in answer.remark
