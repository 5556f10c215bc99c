import pytest
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.group_table import READ_FORBIDDEN, GroupTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import SYSTEM_GROUPS


@pytest.fixture
def table():
    return GroupTable(ManualClock())


def test_a_broker_begins_with_its_system_groups(table):
    assert tuple(table) == SYSTEM_GROUPS
    assert len(SYSTEM_GROUPS) == 8


def test_a_group_is_made_where_that_is_allowed(table):
    assert table.find_or_create("g", auto_create=False) is None
    assert table.changes == 0
    assert table.find_or_create("g", auto_create=True).retry_max_times == 16
    assert (table.changes, table.version.counter) == (1, 1)
    assert "g" in table


def test_a_group_with_an_illegal_name_is_never_made(table):
    assert table.find_or_create("g?", auto_create=True) is None
    with pytest.raises(Refusal, match="29"):
        table.put(SubscriptionGroupConfig(group_name="g" * 121))


def test_attributes_are_changed_one_by_one(table):
    table.put(SubscriptionGroupConfig(group_name="g", attributes={"+a": "1", "+b": "2"}))
    table.put(SubscriptionGroupConfig(group_name="g", attributes={"-a": ""}, retry_max_times=3))
    assert table.find("g").attributes == {"b": "2"}
    assert table.find("g").retry_max_times == 3


def test_groups_can_be_forbidden_to_read_a_topic(table):
    table.forbidden = {"g": {"t": READ_FORBIDDEN, "u": 1}}
    assert [table.may_read(group, topic) for group, topic in (("g", "t"), ("g", "u"), ("h", "t"))] == [
        False, True, True,
    ]  # fmt: skip


def test_what_is_saved_comes_back(table):
    table.find_or_create("g", auto_create=True)
    table.forbidden = {"g": {"t": READ_FORBIDDEN}}
    other = GroupTable(ManualClock())
    other.load(table.dump())
    assert tuple(other) == (*SYSTEM_GROUPS, "g")
    assert other.version == table.version
    assert not other.may_read("g", "t")
    assert other.remove("g") is True
    assert other.remove("g") is False
    assert other.may_read("g", "t")


def test_nobody_consumes_or_commits_as_the_broker_itself(table):
    for name in ("CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_REVIVE_GROUP"):
        with pytest.raises(Refusal, match=f"16.*{name} is the broker's own"):
            table.need(name, auto_create=True)


def test_more_retry_queues_than_a_topic_has_are_refused():
    table = GroupTable(ManualClock())
    with pytest.raises(Refusal, match=r"29.*1000000000000 retry queues; the most is 65535"):
        table.put(SubscriptionGroupConfig(group_name="g", retry_queue_nums=10**12))
    table.put(SubscriptionGroupConfig(group_name="g", retry_queue_nums=65_535))
