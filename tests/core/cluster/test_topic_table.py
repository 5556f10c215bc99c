import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.topic_bodies import TopicConfig, TopicConfigTable
from mqframe.core.cluster.topic_table import TopicTable, parse_attributes, system_topics
from mqframe.core.errors import Refusal


@pytest.fixture
def clock():
    return ManualClock(now_ms=1000)


@pytest.fixture
def table(clock):
    return TopicTable(clock, system_topics("C", "b"))


def test_a_broker_begins_with_its_system_topics(table):
    found = {name: (table.find(name).perm, table.find(name).write_queue_nums) for name in table}
    assert found == {
        "TBW102": (7, 8),
        "SELF_TEST_TOPIC": (6, 1),
        "BenchmarkTest": (6, 1024),
        "C": (7, 16),
        "b": (7, 1),
        "OFFSET_MOVED_EVENT": (6, 1),
        "SCHEDULE_TOPIC_XXXX": (6, 18),
        "C_REPLY_TOPIC": (6, 1),
        "rmq_sys_REVIVE_LOG_C": (6, 8),
        "rmq_sys_SYNC_BROKER_MEMBER_b": (1, 1),
        "RMQ_SYS_TRANS_HALF_TOPIC": (6, 1),
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": (6, 1),
        "rmq_sys_wheel_timer": (6, 1),
    }
    assert set(table.system_topics) == set(table)


def test_without_auto_creation_there_is_no_topic_to_create_after(clock):
    assert "TBW102" not in TopicTable(clock, system_topics("C", "b", auto_create=False))


@pytest.mark.parametrize(("wanted", "got"), [(4, 4), (8, 8), (99, 8), (-1, 0)])
def test_a_topic_made_after_another_has_the_smaller_number_of_queues(table, wanted, got):
    topic = table.create_like("new", "TBW102", wanted)
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (got, got, 6)
    assert table.find("new") == topic


@pytest.mark.parametrize("model", ["absent", "SELF_TEST_TOPIC"])
def test_only_topics_that_hand_down_are_models(table, model):
    assert table.create_like("new", model, 4) is None
    assert "new" not in table


def test_tbw102_is_no_model_once_auto_creation_is_off(table):
    assert table.create_like("new", "TBW102", 4, auto_create=False) is None


def test_each_change_gives_a_new_version(table, clock):
    clock.advance(5)
    before = table.version
    table.put(TopicConfig(topic_name="t"))
    assert (table.version.counter, table.version.timestamp) == (before.counter + 1, 6000)
    assert table.changes == 1
    assert table.put(TopicConfig(topic_name="t")) is False
    assert table.changes == 1
    assert table.remove("t") is True
    assert table.remove("t") is False
    assert table.changes == 2


def test_ensuring_changes_nothing_but_the_order(table):
    first = table.ensure("%RETRY%g", 1)
    assert table.ensure("%RETRY%g", 5) is first
    assert table.ensure("%RETRY%g", 5, order=True).read_queue_nums == 1
    assert table.find("%RETRY%g").order is True


def test_attributes_are_changed_one_by_one(table):
    table.put(TopicConfig(topic_name="t", attributes=parse_attributes("+message.type=FIFO,+a=b")))
    table.put(TopicConfig(topic_name="t", attributes=parse_attributes("-a")))
    assert table.find("t").attributes == {"message.type": "FIFO"}


@pytest.mark.parametrize("text", ["a=b", "+a", "-a=b", "+a=1,+a=2"])
def test_what_is_no_attribute_change_is_refused(text):
    with pytest.raises(Refusal):
        parse_attributes(text)


def test_saved_topics_replace_the_systems_own(clock, table):
    table.put(TopicConfig(topic_name="t", perm=4))
    other = TopicTable(clock, system_topics("C", "b"))
    other.load(table.dump())
    assert other.find("t").perm == 4
    assert other.version == table.version
    other.load(TopicConfigTable(topic_config_table={"C": TopicConfig(perm=2)}))
    assert (other.find("C").topic_name, other.find("C").perm) == ("C", 2)
