"""Administration, both faces, against an in-process cluster of two brokers."""

import asyncio
import inspect

import pytest

from mqframe import Admin, AsyncAdmin, Message, MessageQueue, Producer
from mqframe.core.bodies import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, ClosedError, FixError, MessageError, MqframeError
from mqframe.testing.cluster import AsyncCluster, Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(2) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    with Admin(nameserver=cluster.nameserver) as made:
        yield made


@pytest.fixture(scope="module")
def producer(cluster):
    with Producer("shop", nameserver=cluster.nameserver) as made:
        yield made


def test_topics_come_and_go(admin):
    admin.create_topic("made", queues=3, read_queues=4, order=True)
    assert "made" in admin.list_topics()
    configs = admin.topic_config("made")
    assert sorted(configs) == ["broker-a", "broker-b"]
    assert {(c.read_queue_nums, c.write_queue_nums, c.order, c.perm) for c in configs.values()} == {
        (4, 3, True, 6)
    }
    admin.create_topic("made", queues=5, broker="broker-a")
    assert admin.topic_config("made")["broker-a"].write_queue_nums == 5
    assert len(admin.topic_route("made").queue_datas) == 2
    assert len(admin.topic_stats("made")) >= 6
    admin.delete_topic("made")
    assert "made" not in admin.list_topics()
    with pytest.raises(AnswerError):
        admin.topic_route("made")


def test_what_is_wrong_with_a_topic(admin):
    with pytest.raises(MessageError):
        admin.create_topic("a b")
    with pytest.raises(MessageError, match="at least one queue"):
        admin.create_topic("none", queues=0)
    with pytest.raises(FixError, match="cluster nowhere is not known; known: DefaultCluster"):
        admin.create_topic("x", cluster="nowhere")
    with pytest.raises(FixError, match="no master of nobody"):
        admin.create_topic("x", broker="nobody")


def test_groups_come_and_go(admin):
    admin.create_group("plain")
    admin.create_group(SubscriptionGroupConfig("tuned", retry_max_times=3))
    assert {"plain", "tuned"} <= set(admin.list_groups())
    assert admin.group_configs()["tuned"].retry_max_times == 3
    admin.delete_group("plain", clean_offsets=True)
    assert "plain" not in admin.list_groups()
    assert admin.consumer_connections("tuned").connection_set == []


def test_offsets(admin, producer):
    admin.create_topic("offsets", queues=1, broker="broker-a")
    admin.create_group("reading")
    queue = MessageQueue("offsets", "broker-a", 0)
    results = [producer.send(Message("offsets", b"%d" % n), queue=queue) for n in range(5)]
    assert (admin.min_offset(queue), admin.max_offset(queue)) == (0, 5)
    stored = [admin.message_by_id(result.offset_message_id).store_timestamp for result in results]
    assert admin.earliest_store_time(queue) == stored[0]
    assert admin.search_offset(queue, stored[0] - 1) == 0
    assert admin.search_offset(queue, stored[-1] + 1000) in (4, 5)
    assert admin.lag("reading", "offsets") == 5 or admin.consume_stats("reading") == {}
    assert admin.reset_offsets("reading", "offsets") == {queue: 5}
    with pytest.raises(FixError, match="no broker of that name"):
        admin.max_offset(MessageQueue("offsets", "broker-z", 0))


def test_look_up(admin, producer):
    admin.create_topic("looked", queues=2)
    results = [producer.send(Message("looked", b"%d" % n, keys=[f"k{n}", "all"])) for n in range(6)]
    found = admin.message_by_unique_key("looked", results[2].message_id)
    assert found is not None
    assert (found.body, found.queue) == (b"2", results[2].queue)
    assert admin.message_by_unique_key("looked", "0" * 32) is None
    assert {m.body for m in admin.query_messages("looked", "all")} == {b"%d" % n for n in range(6)}
    assert len(admin.query_messages("looked", "all", max_count=2)) == 2
    assert [m.body for m in admin.query_messages("looked", "k4")] == [b"4"]
    assert admin.query_messages("looked", "nothing") == []
    with pytest.raises(FixError, match="message id"):
        admin.message_by_id("short")


def test_members_of_a_producer_group(admin, producer):
    admin.create_topic("members")
    producer.send(Message("members", b"x"))
    producer.flush()
    (member,) = admin.producer_connections("shop").connection_set
    assert (member.client_id, member.language, member.version) == (producer.client_id, "PYTHON", 479)
    assert admin.producer_connections("nobody").connection_set == []


def test_brokers(admin):
    info = admin.cluster_info()
    assert info.cluster_addr_table == {"DefaultCluster": ["broker-a", "broker-b"]}
    masters = admin.masters()
    assert sorted(masters) == ["broker-a", "broker-b"]
    address = masters["broker-a"]
    assert admin.broker_config(address)["brokerName"] == "broker-a"
    assert "runtime" in admin.broker_runtime(address)
    with pytest.raises(MqframeError, match="nothing"):
        admin.update_broker_config(address, {"nothing": "x"})
    with pytest.raises(FixError, match="line breaks"):
        admin.update_broker_config(address, {"a": "b\nc"})


def test_values_of_the_name_server(admin):
    assert admin.get_kv("ns", "k") is None
    assert admin.list_kv("ns") == {}
    admin.put_kv("ns", "k", "v")
    assert admin.get_kv("ns", "k") == "v"
    assert admin.list_kv("ns") == {"k": "v"}
    admin.delete_kv("ns", "k")
    assert admin.get_kv("ns", "k") is None


def test_producers_leave_a_broker_that_is_wiped(admin, cluster):
    admin.create_topic("wiped", queues=2)
    assert admin.wipe_write_permission("broker-b") > 0
    with Producer("other", nameserver=cluster.nameserver) as fresh:
        assert {queue.broker_name for queue in fresh.queues("wiped")} == {"broker-a"}
    assert admin.add_write_permission("broker-b") > 0


def test_both_faces_have_the_same_methods():
    def methods(face):
        found = {n: m for n, m in inspect.getmembers(face, inspect.isfunction) if not n.startswith("_")}
        return {name: list(inspect.signature(method).parameters) for name, method in found.items()}

    assert methods(Admin) == methods(AsyncAdmin)


def test_the_async_face():
    async def scene():
        async with AsyncCluster() as cluster, AsyncAdmin(nameserver=cluster.nameserver) as admin:
            await admin.create_topic("t", queues=2)
            assert "t" in await admin.list_topics()

    asyncio.run(scene())


def test_use_before_start_and_after_stop(cluster):
    admin = Admin(nameserver=cluster.nameserver)
    with pytest.raises(ClosedError, match="not started"):
        admin.list_topics()
    admin.start()
    admin.list_topics()
    admin.stop()
    with pytest.raises(ClosedError, match="stopped"):
        admin.list_topics()


def test_request_modes(admin):
    admin.create_topic("switched", queues=2)
    admin.set_request_mode("switchers", "switched", "POP", share=2)
    (mode,) = admin.request_modes("switchers")
    assert (mode.topic, mode.consumer_group, mode.mode, mode.pop_share_queue_num) == (
        "switched",
        "switchers",
        "POP",
        2,
    )
    admin.set_request_mode("switchers", "switched", "PULL")
    assert [mode.mode for mode in admin.request_modes("switchers")] == ["PULL"]
    assert admin.request_modes("others") == []
    with pytest.raises(FixError, match="'PUSH'"):
        admin.set_request_mode("switchers", "switched", "PUSH")
    with pytest.raises(MqframeError, match="absent"):
        admin.set_request_mode("switchers", "absent", "POP")
