"""All metrics of a broker: names and labels are RocketMQ's, and a part that fails hides no other."""

from pathlib import Path

from mqframe_metrics import BrokerSource
from mqframe_pop.broker.check_points import CheckPointService
from mqframe_testing.cluster_scene import ClusterScene
from popping import KEY, pop, send
from scrapes import of_broker, parsed, scrape

from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.hooks.interfaces import BrokerService
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl

RECORDED = Path(__file__).parents[4] / "tests/data/metrics/apache-5.3.3.txt"
"""Name, kind and labels of what Apache's broker shows after sends, pulls, pops and delayed messages."""

NO_MEANING = {
    "rocketmq_pop_buffer_scan_time_consume_milliseconds": "check points are looked at when they are due",
    "rocketmq_processor_watermark": "requests do not wait for threads",
    "rocketmq_topic_create_execution_time_milliseconds": "rpc latency of the request says the same",
}


async def test_what_apache_s_broker_shows_is_shown_with_its_kinds_and_labels():
    async with ClusterScene(topics={"t": 2}) as world:
        await world.client.heartbeat("g", SubscriptionData(topic="t"), producers=("p",))
        world.metrics = BrokerSource(world.cluster.broker)
        await send(world, b"1", b"2")
        await world.client.pull("t")
        await world.client.ok_send("t", f"{KEY}TIMER_DELAY_MS\x011000\x02")
        await pop(world)
        await world.clock.aadvance(15)
        await world.settle()
        found = {}
        for family in parsed(await scrape(world.metrics)):
            labels = set().union(*(sample.labels for sample in family.samples)) - {"le"}
            name = family.name + ("_total" if family.type == "counter" else "")
            found[name] = f"{name} {family.type} {','.join(sorted(labels))}"
        recorded = dict(line.split(" ", 1) for line in RECORDED.read_text().splitlines())
        assert not NO_MEANING.keys() & found.keys()
        wanted = [f"{name} {rest}" for name, rest in recorded.items() if name not in NO_MEANING]
        assert [found.get(line.split()[0]) for line in wanted] == wanted


async def test_numbers_of_the_broker():
    async with ClusterScene(topics={"t": 2}) as world:
        shown = await of_broker(world)
        assert shown.value("rocketmq_broker_permission", node_type="broker", node_id="broker-a") == 6
        before = shown.value("rocketmq_topic_number", cluster="DefaultCluster")
        groups = shown.value("rocketmq_consumer_group_number")
        await world.client.ok(UpdateAndCreateTopic(topic="u", read_queue_nums=1, write_queue_nums=1, perm=6))
        await world.client.heartbeat("fresh")
        later = await of_broker(world)
        assert later.value("rocketmq_topic_number") == before + 2, (
            "the topic, and the retry topic of the group"
        )
        assert later.value("rocketmq_consumer_group_number") == groups + 1
        assert later.value("rocketmq_rpc_latency_milliseconds_count", request_code="heart_beat") == 1
        assert later.value("mqframe_budget_used", budget="topics") == before + 2
        assert later.value("mqframe_counter", name="taskFailures") == 0


async def test_counters_of_plugins_are_shown_and_bad_ones_hide_no_others():
    class Counts(BrokerService):
        def counters(self):
            return {"ordersArrived": "3"}

    class Fails(BrokerService):
        def counters(self):
            raise RuntimeError("broken")

    class Plugin:
        @hookimpl
        def register_broker_services(self):
            return {"fails": lambda port: Fails(), "counts": lambda port: Counts()}

    plugins = PluginManager()
    plugins.register(Plugin())
    async with ClusterScene(
        topics={"t": 2}, plugins=plugins, broker={"services": ("fails", "counts")}
    ) as world:
        shown = await of_broker(world)
        assert shown.value("mqframe_counter", name="ordersArrived") == 3


async def test_a_part_whose_metrics_fail_hides_no_others(monkeypatch):
    async def fail(self):
        raise RuntimeError("broken")

    async with ClusterScene(topics={"t": 2}) as world:
        monkeypatch.setattr(CheckPointService, "metrics", fail)
        shown = await of_broker(world)
        assert shown.value("rocketmq_pop_checkpoint_buffer_size") is None
        assert shown.value("rocketmq_half_messages") == 0


async def test_topics_beyond_the_limit_are_one_series():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(6):
            await world.client.ok_send(f"topic-{number}", KEY)
        shown = await of_broker(world, series_max=4)
        series = shown.labels("rocketmq_messages_in_total")
        assert [labels.get("topic") for labels in series] == [*(f"topic-{n}" for n in range(4)), None]
        assert shown.value("rocketmq_messages_in_total", otel_metric_overflow="true") == 2
