"""Rules of sends: which of them see a message, and where failed messages go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sending.needed_services import without
from mqframe.broker.sending.rules import NoHalves, NoLevels, NoTimes, SendRules, ToDeadLetters, unserved
from mqframe.broker.tables.shared import Registry
from mqframe.broker.tables.statistics import Statistics
from mqframe.core.cluster.client_registry import ClientRegistry
from mqframe.core.cluster.group_table import GroupTable
from mqframe.core.cluster.topic_table import TopicTable
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.consuming.queue_locks import QueueLocks
from mqframe.core.delay.options import DELAY_HINT, DELAY_NAMES, LEVEL_NAMES, TIME_NAMES
from mqframe.core.delay.rules import DelayRules
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.properties import encode_properties
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.peer import Peer
from mqframe.core.storage.stored import Stored
from mqframe.hooks.interfaces import PendingRecord, SendRule, StoredAt

STORED = StoredAt(0, Stored(0, 0, 7, 0))


class Rule(SendRule):
    """Notes what it sees; answers with `result`."""

    def __init__(self, *names: str, batches: bool = False, result: StoredAt | None = None) -> None:
        self.names = frozenset(names) or None
        self.batches = batches
        self.result = result
        self.seen: list[str] = []

    def before(self, record: PendingRecord) -> StoredAt | None:
        self.seen.append(record.topic)
        return self.result


class Noting(Rule):
    def after(self, record: PendingRecord, result: StoredAt) -> None:
        self.seen.append(f"{record.topic} stored")


class Scene:
    def __init__(self, *rules: SendRule) -> None:
        clock = ManualClock()
        self.topics = TopicTable(clock)
        self.groups = GroupTable(clock)
        self.groups.put(SubscriptionGroupConfig(group_name="g", retry_max_times=2))
        clients: ClientRegistry[Peer] = ClientRegistry(clock)
        registry = Registry(self.topics, self.groups, OffsetTable(clock), clients)
        self.locks = QueueLocks(clock)
        delays = DelayRules((1000, 5000), clock.now_ms)
        self.dead_letters = ToDeadLetters(registry, self.locks, Statistics(clock))
        self.rules = SendRules(rules, self.dead_letters, delays)


def record(topic: str = "t", properties: dict[str, str] | None = None, **fields: Any) -> PendingRecord:
    values = {"reconsume_times": 0, **fields}
    request = SendMessageV2(
        topic=topic, producer_group="p", default_topic="TBW102", default_topic_queue_nums=4, queue_id=3,
        sys_flag=0, born_timestamp=1, flag=0, **values,
    )  # fmt: skip
    return PendingRecord(request, b"body", 3, properties or {})


def test_a_rule_sees_messages_with_its_names_only_and_the_first_result_ends_it() -> None:
    every, named, last = Rule(), Rule("dedup", result=STORED), Rule()
    rules = Scene(every, named, last).rules
    assert rules.before(record(properties={"KEYS": "1"})) is None
    assert rules.before(record(properties={"dedup": "1"})) is STORED
    assert [len(rule.seen) for rule in (every, named, last)] == [2, 1, 1]


@pytest.mark.parametrize(
    ("text", "concerns"),
    [
        ("KEYS\x011\x02", False),
        ("dedup\x011\x02", True),
        ("KEYS\x01TRAN_MSG\x02", True),  # in a value: the long way is right for it, too
        ("DELAY\x013\x02", True),
        ("KEYS\x01DELIVERED\x02", False),  # the hint alone is not enough
        ("KEYS\x01DELAY\x02", False),
    ],
)
def test_messages_that_name_what_a_rule_wants_concern_one(text: str, concerns: bool) -> None:
    delays = Rule("DELAY", "TIMER_DELAY_MS")
    delays.hint = "DEL"
    assert Scene(Rule("TRAN_MSG"), delays, Rule("dedup")).rules.concern(text) is concerns
    assert Scene().rules.concern(text) is False
    assert Scene(Rule()).rules.concern(text) is True


def test_where_nobody_delivers_at_a_time_a_level_that_is_named_as_well_counts() -> None:
    delays = DelayRules((1000,), ManualClock().now_ms)
    both = record(properties={"DELAY": "1", "TIMER_DELAY_SEC": "3"})
    assert NoTimes(delays).before(both) is None
    assert (both.topic, both.properties) == ("t", {"DELAY": "1", "TIMER_DELAY_SEC": "3"})


WORDS = st.sampled_from(["MODEL", "DELAYED", "DEL", "KEYS", "x", *sorted(DELAY_NAMES)])


@given(st.dictionaries(WORDS, WORDS, max_size=6))
def test_behind_a_hint_only_names_of_properties_count(properties: dict[str, str]) -> None:
    levels, times = Rule(*LEVEL_NAMES), Rule(*TIME_NAMES)
    levels.hint = times.hint = DELAY_HINT
    named = bool(properties.keys() & DELAY_NAMES)
    assert Scene(levels, times).rules.concern(encode_properties(properties)) is named


@pytest.mark.parametrize(
    ("properties", "service"),
    [
        ({"TRAN_MSG": "true"}, "transactions"),
        ({"DELAY": "3"}, "delay_levels"),
        ({"TIMER_DELIVER_MS": "99999999999999"}, "delay"),
    ],
)
def test_what_no_rule_sees_to_is_refused(properties: dict[str, str], service: str) -> None:
    for blocked in ((), ("transactions", "delay_levels", "delay")):
        told = (without(each, blocked).remark for each in ("delay_levels", "delay"))
        delays = DelayRules((), ManualClock().now_ms, *told)
        refusing = unserved([], delays, blocked)
        assert [type(rule) for rule in refusing] == [NoHalves, NoLevels, NoTimes]
        with pytest.raises(Refusal) as refused:
            SendRules(refusing, Scene().dead_letters, delays).before(record(properties=dict(properties)))
        wanted = without(service, blocked)
        assert (refused.value.code, refused.value.remark) == (wanted.code, wanted.remark)


def test_what_a_rule_sees_to_is_not_refused() -> None:
    delays = DelayRules((), ManualClock().now_ms)
    rules = unserved([Rule("TRAN_MSG")], delays, ())
    assert [type(rule) for rule in rules] == [NoLevels, NoTimes]
    assert [type(rule) for rule in unserved([Rule("TRAN_MSG", *LEVEL_NAMES)], delays, ())] == [NoTimes]
    assert unserved([Rule(*DELAY_NAMES), Rule("TRAN_MSG")], delays, ()) == []


def test_a_delay_that_is_none_is_refused_for_that() -> None:
    delays = DelayRules((), ManualClock().now_ms)
    rules = SendRules(unserved([], delays, ()), Scene().dead_letters, delays)
    with pytest.raises(Refusal, match="give a delay level"):
        rules.before(record(properties={"DELAY": "soon"}))


def test_only_rules_of_batches_see_batches() -> None:
    rules = Scene(Rule("single"), Rule("dedup", batches=True)).rules
    assert rules.batch_words == (b"dedup",)
    assert rules.want_batch("dedup\x011\x02", b"")
    assert rules.want_batch("", b"..dedup..")
    assert not rules.want_batch("single\x011\x02", b"single")
    assert not Scene(Rule("single")).rules.want_batch("single", b"single")


def test_rules_that_want_to_know_learn_where_it_was_stored() -> None:
    quiet, noting, other = Rule("a"), Noting("a"), Noting("b")
    rules = Scene(quiet, noting, other).rules
    rules.after(record(properties={"a": "1"}), STORED)
    assert (quiet.seen, noting.seen, other.seen) == ([], ["t stored"], [])


@pytest.mark.parametrize(
    ("fields", "topic", "queue_id"),
    [
        ({"reconsume_times": 2}, "%RETRY%g", 3),
        ({"reconsume_times": 3}, "%DLQ%g", 0),
        ({"reconsume_times": 3, "max_reconsume_times": 3}, "%RETRY%g", 3),
        ({"reconsume_times": 1, "max_reconsume_times": 0}, "%DLQ%g", 0),
    ],
)
def test_what_failed_too_often_is_a_dead_letter(fields: dict[str, int], topic: str, queue_id: int) -> None:
    scene = Scene()
    failed = record("%RETRY%g", {"DELAY": "3", "TIMER_DELAY_SEC": "5"}, **fields)
    assert scene.rules.before(failed, is_retry=True) is None
    assert (failed.topic, failed.queue_id, failed.counted_as) == (topic, queue_id, topic)
    assert (failed.properties == {}) is (topic == "%DLQ%g")
    assert (scene.topics.find("%DLQ%g") is not None) is (topic == "%DLQ%g")


def test_failures_of_a_group_that_consumes_in_order_are_dead_letters_at_once() -> None:
    scene = Scene()
    scene.locks.lock("g", [MessageQueue("t", "b", 0)], "member")
    failed = record("%RETRY%g")
    scene.rules.before(failed, is_retry=True)
    assert failed.topic == "%DLQ%g"


def test_failures_of_an_unknown_group_are_refused() -> None:
    with pytest.raises(Refusal) as caught:
        Scene().rules.before(record("%RETRY%h"), is_retry=True)
    assert caught.value.code == 26
