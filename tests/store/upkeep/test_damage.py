"""What operators are told of damage."""

from __future__ import annotations

from collections.abc import Callable

from stores import put

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

NOTHING = {
    "setAsideStretches": "0",
    "setAsideMessages": "0",
    "setAsideQueues": "",
    "damagedEntries": "0",
    "lostEntries": "0",
    "damagedHeads": "0",
    "lostHeads": "0",
}


def test_a_record_that_a_read_met_is_counted_and_stays_so(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    store = opened()
    stored = put(store, *(message("t", 1, b"%d" % number) for number in range(4)))
    assert store.damage.counters() == NOTHING
    store.damage.repair(stored[2].commit_log_offset)
    (report,) = store.damage.reports
    assert (report.start, report.end) == (stored[2].commit_log_offset, stored[2].end_offset)
    counted = {"setAsideStretches": "1", "setAsideMessages": "1", "setAsideQueues": "t:1"}
    assert store.damage.counters() == NOTHING | counted
    store.abandon()
    assert opened().damage.counters() == NOTHING | counted


def test_a_report_is_replaced_in_its_place(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    store = opened()
    stored = put(store, *(message() for _ in range(3)))
    for each in stored[:2]:
        store.damage.repair(each.commit_log_offset)
    first, second = store.damage.reports
    store.damage.replace(first, second)
    assert store.damage.reports == [second, second]
