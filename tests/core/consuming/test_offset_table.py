import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.consuming.offset_table import DELETED_TOPICS_MAX, OffsetTable
from mqframe.core.errors import Refusal
from mqframe.core.wire.loose_json import decode, dumps


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


def test_who_had_consumed_a_deleted_topic_begins_anew(table):
    for group in ("online", "offline", "pending"):
        table.commit(group, "t", 0, 10)
        table.commit(group, "t", 3, 7)
    table.reset("pending", "t", 0, 5)
    table.remove_topic("t", {"online", "other"})
    assert [table.query("online", "t", queue_id) for queue_id in (0, 1, 3)] == [0, None, 0]
    assert table.reset_pending("online", "t", 3)
    assert table.take_reset("online", "t", 0) == 0
    assert table.take_reset("online", "t", 0) is None
    for group in ("offline", "pending", "other"):
        assert table.query(group, "t", 0) is None
        assert table.take_reset(group, "t", 0) is None
    assert table.entries == 0


def test_only_the_newest_deleted_topics_are_remembered(table):
    for number in range(DELETED_TOPICS_MAX + 1):
        table.commit("g", f"t{number}", 0, 10)
        table.remove_topic(f"t{number}", {"g"})
    assert table.take_reset("g", "t0", 0) is None
    assert table.take_reset("g", "t1", 0) == 0
    assert table.take_reset("g", f"t{DELETED_TOPICS_MAX}", 0) == 0


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


GROUPS, QUEUES = st.sampled_from("gh"), st.integers(0, 1)
OFFSETS = st.integers(0, 9)


class Operators(RuleBasedStateMachine):
    """Members that commit and pull, and operators that reset, against two plain dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.table = OffsetTable(ManualClock())
        self.stored: dict[tuple[str, int], int] = {}
        self.pending: dict[tuple[str, int], int] = {}

    @rule(group=GROUPS, queue=QUEUES, offset=OFFSETS)
    def commit(self, group: str, queue: int, offset: int) -> None:
        # As the broker does: what members commit does not count while a reset waits for them.
        assert self.table.reset_pending(group, "t", queue) == ((group, queue) in self.pending)
        if (group, queue) not in self.pending:
            self.table.commit(group, "t", queue, offset)
            self.stored[group, queue] = offset

    @rule(group=GROUPS, queue=QUEUES, offset=OFFSETS)
    def reset(self, group: str, queue: int, offset: int) -> None:
        self.table.reset(group, "t", queue, offset)
        self.stored[group, queue] = self.pending[group, queue] = offset

    @rule(group=GROUPS, queue=QUEUES)
    def pull(self, group: str, queue: int) -> None:
        assert self.table.take_reset(group, "t", queue) == self.pending.pop((group, queue), None)

    @rule(group=GROUPS)
    def remove(self, group: str) -> None:
        self.table.remove_group(group)
        for kept in (self.stored, self.pending):
            for key in [key for key in kept if key[0] == group]:
                del kept[key]

    @rule()
    def restart(self) -> None:
        saved = decode(dumps(self.table.dump()), ConsumerOffsetTable)
        self.table = OffsetTable(ManualClock())
        self.table.load(saved)
        self.pending.clear()  # a reset that nobody took is an ordinary offset after a restart

    @invariant()
    def the_table_says_what_the_model_says(self) -> None:
        for group in "gh":
            for queue in (0, 1):
                assert self.table.query(group, "t", queue) == self.stored.get((group, queue))
            offsets = {queue: offset for (name, queue), offset in self.stored.items() if name == group}
            assert self.table.offsets_of(group, "t") == offsets
            assert self.table.by_group("t").get(group, {}) == offsets


TestOperators = Operators.TestCase
TestOperators.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_offsets_are_counted_and_new_ones_may_be_refused(table):
    table.commit("g", "t", 0, 1)
    table.commit("g", "t", 0, 2)
    table.pulled("g", "t", 1, 3)
    assert table.entries == 2

    def refuse(more):
        raise Refusal(2, "full")

    table.admit = refuse
    table.commit("g", "t", 0, 5)
    for change in (table.commit, table.pulled, table.reset):
        with pytest.raises(Refusal):
            change("g", "u", 0, 1)
        with pytest.raises(Refusal):
            change("g", "t", 9, 1)
    table.commit("g", "rmq_sys_REVIVE_LOG_c", 0, 1)
    assert (table.entries, table.topics_of("g"), table.query("g", "u", 0)) == (
        3,
        ["t", "rmq_sys_REVIVE_LOG_c"],
        None,
    )
    assert not table.reset_pending("g", "u", 0)
    table.remove_group("g")
    assert table.entries == 0


class Indexes(RuleBasedStateMachine):
    """What is looked up by group and by topic is what a search would find."""

    def __init__(self):
        super().__init__()
        self.table = OffsetTable(ManualClock())
        self.model = {}
        self.pulled = set()

    names = st.sampled_from("ab")

    @rule(group=names, topic=names, queue_id=st.integers(0, 2), offset=st.integers(0, 9))
    def commit(self, group, topic, queue_id, offset):
        self.table.commit(group, topic, queue_id, offset)
        self.model.setdefault((topic, group), {})[queue_id] = offset

    @rule(group=names, topic=names, queue_id=st.integers(0, 2))
    def pull(self, group, topic, queue_id):
        self.table.pulled(group, topic, queue_id, 1)
        self.pulled.add((topic, group, queue_id))

    @rule(name=names, by_topic=st.booleans())
    def remove(self, name, by_topic):
        (self.table.remove_topic if by_topic else self.table.remove_group)(name)
        self.model = {k: v for k, v in self.model.items() if k[0 if by_topic else 1] != name}
        self.pulled = {each for each in self.pulled if each[0 if by_topic else 1] != name}

    @rule()
    def reload(self):
        saved = decode(dumps(self.table.dump()), ConsumerOffsetTable)
        self.table = OffsetTable(ManualClock())
        self.table.load(saved)
        self.pulled = set()

    @invariant()
    def same(self):
        for name in "ab":
            assert sorted(self.table.topics_of(name)) == sorted(t for t, g in self.model if g == name)
            assert sorted(self.table.groups_of(name)) == sorted(g for t, g in self.model if t == name)
            assert self.table.by_group(name) == {g: v for (t, g), v in self.model.items() if t == name}
        assert self.table.entries == sum(map(len, self.model.values())) + len(self.pulled)


TestIndexes = Indexes.TestCase
TestIndexes.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_offsets_are_corrected_to_what_exists(table):
    for queue_id, offset in enumerate((0, 3, 4, 9, 10, 11, 2**62, -1)):
        table.commit("g", "t", queue_id, offset)
    table.commit("g", "%LMQ%t", 0, 99)
    before = table.changes
    behind = table.keep_within(lambda topic, queue_id: 4, lambda topic, queue_id: 10)
    assert table.offsets_of("g", "t") == {0: 4, 1: 4, 2: 4, 3: 9, 4: 10, 5: 10, 6: 10, 7: -1}
    assert table.offsets_of("g", "%LMQ%t") == {0: 99}
    assert behind == [("g", "t", 5, 11, 10), ("g", "t", 6, 2**62, 10)]
    assert table.changes == before + 4
    assert table.keep_within(lambda topic, queue_id: 4, lambda topic, queue_id: 10) == []
    assert table.changes == before + 4


def test_where_a_queue_begins_is_asked_only_for_groups_within(table):
    table.commit("g", "t", 0, 10)

    def never(topic, queue_id):
        raise AssertionError("the disk is read for this")

    assert table.keep_within(never, lambda topic, queue_id: 10) == []
