"""Which topics have a fixed queue list, from whom, and for how long."""

from __future__ import annotations

from mqframe.core.cluster.order_config import ORDER_TOPIC_NAMESPACE
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.nameserver.kv_config import KvConfig
from mqframe.nameserver.ordered_topics import OrderedTopics

FIFO = {"message.type": "FIFO"}


def topic(name: str, queues: int, *, order: bool = False, fifo: bool = False) -> dict[str, TopicConfig]:
    config = TopicConfig(
        topic_name=name,
        read_queue_nums=queues,
        write_queue_nums=queues,
        order=order,
        attributes=FIFO if fifo else {},
    )
    return {name: config}


def learn(ordered: OrderedTopics, broker_name: str, topics: dict[str, TopicConfig]) -> None:
    if ordered.note(broker_name, topics):
        ordered.save()


def test_a_marked_topic_has_a_list_where_that_is_switched_on():
    ordered = OrderedTopics(KvConfig(None))
    learn(ordered, "broker-b", topic("t", 2, order=True))
    learn(ordered, "broker-a", topic("t", 4, order=True) | topic("plain", 4))
    assert ordered.queues_of("t", True) == "broker-a:4;broker-b:2"
    assert ordered.queues_of("t", False) is None
    assert ordered.queues_of("plain", True) is None


def test_a_fifo_topic_always_has_one():
    ordered = OrderedTopics(KvConfig(None))
    learn(ordered, "broker-a", topic("t", 4, fifo=True))
    assert (ordered.queues_of("t", False), ordered.queues_of("t", True)) == ("broker-a:4", "broker-a:4")
    learn(ordered, "broker-a", topic("t", 4, order=True))
    assert (ordered.queues_of("t", False), ordered.queues_of("t", True)) == (None, "broker-a:4")


def test_the_list_of_an_operator_comes_first():
    kv = KvConfig(None)
    ordered = OrderedTopics(kv)
    learn(ordered, "broker-a", topic("t", 4, order=True))
    kv.put(ORDER_TOPIC_NAMESPACE, "t", "broker-z:1")
    assert ordered.queues_of("t", True) == "broker-z:1"
    assert ordered.queues_of("t", False) is None


def test_a_deleted_topic_is_forgotten():
    ordered = OrderedTopics(KvConfig(None))
    learn(ordered, "broker-a", topic("t", 4, fifo=True))
    ordered.forget("t")
    assert (ordered.queues_of("t", False), ordered.queues_of("t", True)) == (None, None)


def test_what_was_learnt_outlives_a_restart(tmp_path):
    learn(OrderedTopics(KvConfig(tmp_path)), "broker-a", topic("t", 4, fifo=True))
    kv = KvConfig(tmp_path)
    kv.load()
    assert OrderedTopics(kv).queues_of("t", False) == "broker-a:4"


def test_a_disk_that_is_full_loses_nothing_of_this_run():
    class Full(KvConfig):
        def save(self) -> None:
            raise OSError("no space left")

    kv = Full(None)
    ordered = OrderedTopics(kv)
    learn(ordered, "broker-a", topic("t", 4, fifo=True))
    assert ordered.queues_of("t", False) == "broker-a:4"


def test_a_registration_is_saved_once_however_many_of_its_topics_are_ordered(monkeypatch):
    kv = KvConfig(None)
    saves = []
    monkeypatch.setattr(kv, "save", lambda: saves.append(kv.entries))
    ordered = OrderedTopics(kv)
    topics = {name: config for n in range(50) for name, config in topic(f"t{n}", 4, fifo=True).items()}
    learn(ordered, "broker-a", topics)
    assert saves == [100]
    learn(ordered, "broker-a", topics)
    assert saves == [100]
    ordered.forget("t0")
    ordered.forget("t0")
    assert saves == [100, 98]
