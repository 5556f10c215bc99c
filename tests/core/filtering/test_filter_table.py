"""Expressions by topic and group: how long they live."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.errors import Refusal
from mqframe.core.filtering.bloom_filter import BloomFilter
from mqframe.core.filtering.bodies import FilterDataTable, SubscriptionData
from mqframe.core.filtering.filter_table import DEAD_AT_START_MS, KEPT_DEAD_MS, FilterTable
from mqframe.core.measuring.budget import Budget
from mqframe.core.wire.loose_json import decode, dumps


def sql(text: str, version: int = 1, topic: str = "t") -> SubscriptionData:
    return SubscriptionData(topic=topic, expression_type="SQL92", sub_string=text, sub_version=version)


def state(table, topic="t", group="g"):
    data = table.get(topic, group)
    return None if data is None else (data.expression, data.client_version, "dead" if data.dead else "alive")


def test_what_is_saved_is_what_the_reference_reads():
    clock = ManualClock()
    table = FilterTable(clock)
    table.register("billing", [sql("a > 1", 17, "orders"), SubscriptionData(topic="%RETRY%billing")])
    assert decode(dumps(table.dump()), dict) == {
        "filterDataByTopic": {
            "orders": {
                "groupFilterData": {
                    "billing": {
                        "bloomFilterData": {"bitNum": 112, "bitPos": [31, 20, 9]},
                        "bornTime": clock.now_ms(),
                        "clientVersion": 17,
                        "consumerGroup": "billing",
                        "dead": False,
                        "deadTime": 0,
                        "expression": "a > 1",
                        "expressionType": "SQL92",
                        "topic": "orders",
                    }
                },
                "topic": "orders",
            }
        }
    }


def test_a_newer_expression_that_does_not_compile_ends_the_old_one():
    table = FilterTable(ManualClock(), lambda kind, text: text != "bad")
    table.register("g", [sql("bad", 1)])
    assert state(table) is None
    table.register("g", [sql("a", 2)])
    table.register("g", [sql("bad", 2)])
    assert state(table) == ("a", 2, "alive")
    table.register("g", [sql("bad", 3)])
    assert state(table) is None


@pytest.mark.parametrize("text", [None, ""])
def test_no_expression_is_none(text):
    table = FilterTable(ManualClock())
    table.register("g", [sql(text)])
    assert (state(table), table.changes) == (None, 0)


def test_all_are_dead_when_a_broker_starts_until_members_come():
    clock = ManualClock()
    old = FilterTable(clock)
    old.register("g", [sql("a", 5)])
    saved = dumps(old.dump())
    clock.advance(3600)
    table = FilterTable(clock)
    table.load(decode(saved, FilterDataTable))
    assert state(table) == ("a", 5, "dead")
    assert table.get("t", "g").dead_time == clock.now_ms() - DEAD_AT_START_MS
    table.register("g", [sql("a", 5)])
    assert state(table) == ("a", 5, "alive")
    assert table.get("t", "g").dead_time == 0


def test_nothing_dies_before_it_was_born():
    clock = ManualClock()
    old = FilterTable(clock)
    old.register("g", [sql("a", 5)])
    table = FilterTable(clock)
    table.load(old.dump())
    data = table.get("t", "g")
    assert (data.dead, data.dead_time) == (True, data.born_time)


def test_a_bloom_filter_of_another_size_makes_the_file_void():
    table = FilterTable(ManualClock())
    table.register("g", [sql("a")])
    other = FilterTable(ManualClock(), bloom=BloomFilter(10, 128))
    other.load(table.dump())
    assert state(other) is None


class Lives(RuleBasedStateMachine):
    """Against a model: what each pair of topic and group last said that counted."""

    topics = st.sampled_from("tu")
    groups = st.sampled_from("gh")

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.table = FilterTable(self.clock, lambda kind, text: text != "bad")
        self.model: dict[tuple[str, str], list] = {}  # [expression, version, when it died]

    @rule(
        group=groups,
        wants=st.dictionaries(topics, st.tuples(st.sampled_from(["a", "b", "bad"]), st.integers(1, 4))),
    )
    def beat(self, group, wants):
        self.table.register(group, [sql(text, version, topic) for topic, (text, version) in wants.items()])
        for topic, (text, version) in wants.items():
            old = self.model.get((topic, group))
            if old is not None and version < old[1]:
                continue
            if old is not None and (version == old[1] or text == old[0]):
                old[1:] = [version, None]
            elif text == "bad":
                self.model.pop((topic, group), None)
            else:
                self.model[topic, group] = [text, version, None]
        for (topic, name), entry in self.model.items():
            if name == group and topic not in wants and entry[2] is None:
                entry[2] = self.clock.now_ms()

    @rule(group=groups)
    def leave(self, group):
        self.table.unregister(group)
        for (_, name), entry in self.model.items():
            if name == group and entry[2] is None:
                entry[2] = self.clock.now_ms()

    @rule(hours=st.sampled_from([1, 13, 24]))
    def wait(self, hours):
        self.clock.advance(hours * 3600)

    @rule()
    def save(self):
        before = self.table.changes
        saved = decode(dumps(self.table.dump()), FilterDataTable)
        limit = self.clock.now_ms() - KEPT_DEAD_MS
        self.model = {k: e for k, e in self.model.items() if e[2] is None or e[2] > limit}
        assert {
            (t, g) for t, each in saved.filter_data_by_topic.items() for g in each.group_filter_data
        } == set(self.model)
        assert self.table.changes == before

    @invariant()
    def agrees(self):
        for topic in "tu":
            for group in "gh":
                entry = self.model.get((topic, group))
                expected = (
                    None if entry is None else (entry[0], entry[1], "alive" if entry[2] is None else "dead")
                )
                assert state(self.table, topic, group) == expected
                if entry is not None:
                    assert self.table.get(topic, group).dead_time == (entry[2] or 0)


Lives.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestLives = Lives.TestCase


def test_for_a_new_expression_dead_ones_go_and_without_any_it_is_refused():
    clock = ManualClock()
    table = FilterTable(clock)
    budget = Budget("expressions", "broker.expressions_max", lambda: table.count, lambda: 2)
    table.admit = budget.admit
    table.register("a", [sql("x > 1"), sql("x > 2", topic="u")])
    table.register("a", [sql("x > 3", 2), sql("x > 2", topic="u")])
    with pytest.raises(Refusal, match="expressions_max"):
        table.register("b", [sql("x > 1")])
    assert (state(table, group="b"), table.count) == (None, 2)
    table.register("a", [sql("x > 3", 2)])
    assert state(table, "u", "a") == ("x > 2", 1, "dead")
    table.register("b", [sql("x > 1")])
    assert (state(table, "u", "a"), state(table, group="b")) == (None, ("x > 1", 1, "alive"))
    loaded = FilterTable(clock)
    loaded.load(table.dump())
    assert loaded.count == table.count == 2
