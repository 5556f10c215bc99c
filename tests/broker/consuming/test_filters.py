"""Messages chosen by expressions at the broker."""

from __future__ import annotations

import asyncio
import json

import pytest
from mqframe_admin.requests import UpdateBrokerConfig
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.consuming.filters import Filters
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.core.cluster.client_bodies import CheckClientBody
from mqframe.core.codes import PullFlag
from mqframe.core.errors import Refusal
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.subscription import Subscription
from mqframe.core.requests.consumers import CheckClientConfig, UnregisterClient
from mqframe.core.storage.record import decode_records, encode_record
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.hooks.interfaces import MessageFilter
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl

KEY = "UNIQ_KEY\x01FD00AA\x02"
WAIT = PullFlag.SUBSCRIPTION | PullFlag.SUSPEND
ODD = {"expression_type": "SQL92", "subscription": "odd = 'yes'"}


async def send(world, count, first=0):
    for number in range(first, first + count):
        odd = "yes" if number % 2 else "no"
        await world.client.ok_send("t", f"{KEY}n\x01{number}\x02odd\x01{odd}\x02")


def numbers(answer):
    return [int(message.properties["n"]) for message in decode_records(answer.body)]


def sql(text, version=1, topic="t"):
    return SubscriptionData(topic=topic, expression_type="SQL92", sub_string=text, sub_version=version)


def pull_as_member(world, offset=0, version=1, **fields):
    return world.client.pull(
        "t", offset, sys_flag=fields.pop("sys_flag", 0), subscription=None, sub_version=version, **fields
    )


async def test_a_pull_brings_its_expression_along():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 6)
        answer = await world.client.pull("t", **ODD)
        assert (answer.code, numbers(answer), answer.ext["nextBeginOffset"]) == (0, [1, 3, 5], "6")
        answer = await world.client.pull("t", max_msg_nums=2, **ODD)
        assert (numbers(answer), answer.ext["nextBeginOffset"]) == ([1, 3], "4")
        answer = await world.client.pull("t", expression_type="SQL92", subscription="n > 100")
        assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
        assert answer.ext["nextBeginOffset"] == "6"


async def test_a_pull_goes_by_the_heartbeats_expression():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 6)
        await world.client.heartbeat("g", sql("n BETWEEN 2 AND 4"))
        assert numbers(await pull_as_member(world)) == [2, 3, 4]
        await world.client.heartbeat("g", sql("n = 5", 2))
        assert numbers(await pull_as_member(world, version=2)) == [5]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [("n >", 27, "character 4"), ("", 27, "no expression"), ("n > 1", 0, "FOUND")],
)
async def test_a_group_whose_expression_is_none_hears_so(text, code, words):
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 6)
        await world.client.heartbeat("g", sql(text))
        answer = await pull_as_member(world)
        assert answer.code == code
        assert words in answer.remark


async def test_a_pull_that_knows_a_newer_expression():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        await world.client.heartbeat("g", sql("n > 0", 5))
        answer = await pull_as_member(world, version=6)
        assert answer.code == 25
        assert numbers(await pull_as_member(world, version=5)) == [1]


async def test_a_restarted_group_with_an_older_expression():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        await world.client.heartbeat("g", sql("n > 0", 5))
        await world.client.ok(UnregisterClient("c1", None, "g"))
        # The version of the expression that is kept is the newer one; what it says counts.
        await world.client.heartbeat("g", sql("n = 0", 4))
        assert numbers(await pull_as_member(world, version=4)) == [1]


async def test_expressions_end_with_the_last_member_and_come_back_with_it(tmp_path):
    async with ClusterScene(topics={"t": 2}, directory=tmp_path) as world:

        def kept():
            file = tmp_path / "broker-a" / "config" / "consumerFilter.json"
            return json.loads(file.read_text())["filterDataByTopic"]["t"]["groupFilterData"]["g"]

        await world.client.heartbeat("g", sql("n > 0"))
        assert await until(lambda: kept()["dead"] is False, world.clock)
        await world.client.ok(UnregisterClient("c1", None, "g"))
        assert await until(lambda: kept()["dead"] is True, world.clock)
        assert kept()["deadTime"] > kept()["bornTime"]
        await world.client.heartbeat("g", sql("n > 0"))
        other = world.connect()
        await other.heartbeat("g", sql("n > 0"), client_id="c2")
        await other.client.close()
        await world.settle()
        assert await until(lambda: kept()["dead"] is False, world.clock)
        await world.client.client.close()
        assert await until(lambda: kept()["dead"] is True, world.clock)


async def until(holds, clock=None):
    # The file is written by a thread, and connections end when the system says so; both take real time.
    for _ in range(24_000):
        if clock is not None:
            await clock.aadvance(1)
        try:
            if holds():
                return True
        except (FileNotFoundError, KeyError):
            pass
        await asyncio.sleep(0.005)
    return False


async def test_switched_off():
    async with ClusterScene(topics={"t": 2}) as world:
        await send(world, 2)
        await world.client.heartbeat("g", sql("n > 0"))
        await world.client.ok(UpdateBrokerConfig(), b"enablePropertyFilter=false")
        for answer in (
            await world.client.pull("t", **ODD),
            await pull_as_member(world),
            await world.client.invoke(
                CheckClientConfig(), dumps(CheckClientBody(subscription_data=sql("n")))
            ),
        ):
            assert (answer.code, "enablePropertyFilter" in answer.remark) == (1, True)
        assert numbers(await world.client.pull("t")) == [0, 1]


async def test_a_filter_that_is_not_installed():
    async with ClusterScene(topics={"t": 2}, plugins=PluginManager(list)) as world:
        await send(world, 2)
        await world.client.heartbeat("g", sql("n > 0"))
        for answer in (
            await world.client.pull("t", **ODD),
            await pull_as_member(world),
            await world.client.invoke(
                CheckClientConfig(), dumps(CheckClientBody(subscription_data=sql("n")))
            ),
        ):
            assert answer.code == 1
            assert "pip install mqframe-plugin-sql92" in answer.remark


async def test_a_blocked_filter_by_tags_serves_nobody():
    plugins = PluginManager()
    plugins.block("message_filter.TAG")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        await send(world, 2)
        await world.client.heartbeat("g", SubscriptionData(topic="t", sub_string="paid", sub_version=1))
        for answer in (await world.client.pull("t", subscription="paid"), await pull_as_member(world)):
            assert (answer.code, answer.remark) == (1, "message_filter 'TAG' is blocked")


async def test_only_wanted_messages_wake_a_waiting_pull():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, **ODD)
        await world.settle()
        other = world.connect()
        for number in (0, 2, 4):
            await other.ok_send("t", f"{KEY}n\x01{number}\x02odd\x01no\x02")
        await world.settle()
        assert not waiting.done()
        await other.ok_send("t", f"{KEY}n\x015\x02odd\x01yes\x02")
        answer = await waiting
        assert (answer.code, numbers(answer), answer.ext["nextBeginOffset"]) == (0, [5], "4")


async def test_unwanted_messages_move_a_waiting_pull_on_at_the_sweep():
    async with ClusterScene(topics={"t": 2}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, **ODD)
        await world.settle()
        await world.connect().ok_send("t", f"{KEY}n\x010\x02odd\x01no\x02")
        await world.settle()
        assert not waiting.done()
        await world.clock.aadvance(5)
        answer = await waiting
        assert answer.code in (19, 20)
        assert answer.ext["nextBeginOffset"] == "1"


async def test_a_waiting_pull_is_answered_when_more_arrives_than_is_looked_at_for_one():
    async with ClusterScene(topics={"t": 2}, store={"scan_entries_max": 4}) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, **ODD)
        await world.settle()
        sends = [world.client.ok_send("t", f"{KEY}n\x010\x02odd\x01no\x02") for _ in range(9)]
        await asyncio.gather(*sends)
        answer = await waiting
        assert answer.code == 20
        assert 4 <= int(answer.ext["nextBeginOffset"]) <= 9


async def test_a_pull_looks_at_a_bounded_number_of_messages():
    async with ClusterScene(topics={"t": 2}, store={"scan_entries_max": 4}) as world:
        await send(world, 10)
        answer = await world.client.pull("t", expression_type="SQL92", subscription="n > 100", max_msg_nums=1)
        assert (answer.code, answer.ext["nextBeginOffset"]) == (20, "4")


async def test_a_message_that_breaks_the_evaluation_is_not_wanted():
    async with ClusterScene(topics={"t": 2}) as world:
        for value in ("1", "x", "7"):
            await world.client.ok_send("t", f"{KEY}n\x01{value}\x02")
        assert numbers(await world.client.pull("t", expression_type="SQL92", subscription="n > 0")) == [1, 7]


async def test_retried_messages_are_chosen_by_the_topic_that_they_came_from():
    async with ClusterScene(topics={"t": 2}) as world:
        retry = "%RETRY%g"
        await world.client.heartbeat("g", sql("n > 5"), sql("n > 0", topic=retry))
        for number, origin in ((3, "t"), (7, "t"), (2, "other"), (4, None)):
            text = f"{KEY}n\x01{number}\x02" + (f"RETRY_TOPIC\x01{origin}\x02" if origin else "")
            await world.client.ok_send(retry, text)
        answer = await world.client.pull(retry, sys_flag=0, subscription=None, sub_version=1)
        assert numbers(answer) == [7, 2, 4]


async def test_far_behind_the_end_expressions_are_evaluated_in_a_thread(monkeypatch):
    async with ClusterScene(topics={"t": 2}, store={"mapped_read_bytes": 0}) as world:
        await send(world, 6)
        monkeypatch.setattr("mqframe.store.files.log_file.LogFile.read_now", lambda *args: None)
        assert numbers(await world.client.pull("t", **ODD)) == [1, 3, 5]


async def test_saved_expressions_can_be_read_back(tmp_path):
    async with ClusterScene(topics={"t": 2}, directory=tmp_path) as world:
        await world.client.heartbeat("g", sql("n > 0", 7))
    file = tmp_path / "broker-a" / "config" / "consumerFilter.json"
    data = decode(file.read_bytes(), dict)["filterDataByTopic"]["t"]["groupFilterData"]["g"]
    assert (data["expression"], data["clientVersion"], data["bloomFilterData"]) == (
        "n > 0",
        7,
        {"bitNum": 112, "bitPos": [22, 87, 58]},
    )

    async with ClusterScene(topics={"t": 2}, directory=tmp_path) as world:
        await send(world, 2)
        await world.client.heartbeat("g", sql("n > 0", 7))
        assert numbers(await pull_as_member(world, version=7)) == [1]


def test_a_reader_that_knows_a_newer_expression_than_the_table():
    filters = Filters(LiveSettings(BrokerSettings()), PluginManager(), ManualClock())
    filters.table.register("g", [sql("n > 0", 5)])
    newer = Subscription(sql("n > 0", 7))
    assert filters.of_group("g", newer, 5).records is not None
    with pytest.raises(Refusal, match=r"28: .*has version 5, the pull is for 6"):
        filters.of_group("g", newer, 6)


def test_an_expression_is_compiled_once():
    compiled = []

    class Counting(MessageFilter):
        def compile(self, expression):
            compiled.append(expression)
            return lambda properties: True

    plugins = PluginManager(list)
    plugins.register(Plugin({"SQL92": Counting}), "counting")
    filters = Filters(LiveSettings(BrokerSettings()), plugins, ManualClock())
    for _ in range(3):
        filters.table.register("g", [sql("n > 0")])
        filters.of_group("g", Subscription(sql("n > 0")), 1)
        filters.own("SQL92", "n > 0")
    assert compiled == ["n > 0"]


async def test_a_filter_that_raises_leaves_messages_out_and_stops_nothing(caplog):
    class Raising(MessageFilter):
        def compile(self, expression):
            return lambda properties: 1 / int(properties["n"]) > 0

    plugins = PluginManager(list)
    plugins.register(Plugin({"SQL92": Raising}), "raising")

    async with ClusterScene(topics={"t": 2}, plugins=plugins) as world:
        waiting = world.client.pull("t", sys_flag=WAIT, expression_type="SQL92", subscription="x")
        await world.settle()
        other = world.connect()
        for number in (0, 0, 4):
            await other.ok_send("t", f"{KEY}n\x01{number}\x02")
        assert numbers(await waiting) == [4]
    assert [r.getMessage() for r in caplog.records if "message filter failed" in r.getMessage()]


class Plugin:
    """A plugin that is no distribution."""

    def __init__(self, filters):
        self._filters = filters

    @hookimpl
    def register_message_filters(self):
        return self._filters


@pytest.mark.parametrize("reads", [None, ["n", "m"]])
def test_what_a_service_offers_remembers_verdicts_of_filters_that_say_what_they_read(reads):
    class Saying(MessageFilter):
        def compile(self, expression):
            return lambda properties: properties.get("n") == expression

        def reads(self, expression):
            assert expression == "5"
            return reads

    made = []

    def remembering(wanted, matches, names):
        made.append((wanted, matches, names))
        return wanted

    plugins = PluginManager(list)
    plugins.register(Plugin({"SAYING": Saying}), "saying")
    live = LiveSettings(BrokerSettings())
    offers = {"speedups.verdicts": remembering}
    records = Filters(live, plugins, ManualClock(), offers.get).own("SAYING", "5").records
    if reads is None:
        assert made == []
    else:
        [(wanted, matches, names)] = made
        assert (wanted, names) == (records, ["n", "m"])
        assert matches({"n": "5"})
    record = encode_record(
        topic="t", queue_id=0, queue_offset=0, physical_offset=0, body=b"x", properties=b"n\x015\x02",
        born_timestamp=1, born_host=bytes(8), store_timestamp=1, store_host=bytes(8),
    )  # fmt: skip
    assert records(record)
