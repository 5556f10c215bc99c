import pytest

from mqframe.core.bodies import ConsumerOffsetTable
from mqframe.core.loosejson import decode, dumps
from mqframe.core.offset_table import OffsetTable
from mqframe.testing.manual_clock import ManualClock


@pytest.fixture
def table():
    return OffsetTable(ManualClock())


def test_an_offset_that_was_never_stored_is_none(table):
    assert table.query("g", "t", 0) is None
    assert table.query_pulled("g", "t", 0) is None


def test_a_later_commit_counts_even_when_it_goes_back(table):
    table.commit("g", "t", 0, 9)
    table.commit("g", "t", 0, 4)
    assert table.query("g", "t", 0) == 4
    table.pulled("g", "t", 0, 12)
    assert table.query_pulled("g", "t", 0) == 12
    assert table.query("h", "t", 0) is None


def test_a_reset_is_given_once_and_keeps_its_offset(table):
    table.commit("g", "t", 1, 9)
    assert table.take_reset("g", "t", 1) is None
    table.reset("g", "t", 1, 2)
    assert table.reset_pending("g", "t", 1)
    assert not table.reset_pending("g", "t", 0)
    assert table.query("g", "t", 1) == 2
    assert table.take_reset("g", "t", 0) is None
    assert table.take_reset("g", "t", 1) == 2
    assert table.take_reset("g", "t", 1) is None
    assert table.query("g", "t", 1) == 2


def test_topics_and_groups_are_found_and_forgotten(table):
    for group, topic in (("g", "t"), ("g", "u"), ("h", "t")):
        table.commit(group, topic, 0, 1)
        table.reset(group, topic, 0, 0)
    assert table.topics_of("g") == ["t", "u"]
    assert table.groups_of("t") == ["g", "h"]
    table.remove_topic("t")
    assert table.topics_of("g") == ["u"]
    assert table.query("h", "t", 0) is None
    assert table.take_reset("h", "t", 0) is None
    table.remove_group("g")
    assert table.topics_of("g") == []


def test_what_is_saved_comes_back(table):
    table.commit("g", "%RETRY%g", 0, 3)
    table.commit("g", "t", 2, 7)
    saved = decode(dumps(table.dump()), ConsumerOffsetTable)
    assert saved.offset_table == {"%RETRY%g@g": {0: 3}, "t@g": {2: 7}}
    other = OffsetTable(ManualClock())
    other.load(saved)
    assert other.query("g", "t", 2) == 7
    assert other.version.counter == 1


def test_a_real_brokers_file_is_read():
    text = b'{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":5},"groupTopicMap":{"g":["t"]},' + (
        b'"offsetTable":{"t@g":{0:12,1:7},"broken":{0:1}}}'
    )
    table = OffsetTable(ManualClock())
    table.load(decode(text, ConsumerOffsetTable))
    assert table.query("g", "t", 1) == 7
    assert table.version.timestamp == 5
    assert table.dump().offset_table == {"t@g": {0: 12, 1: 7}}
