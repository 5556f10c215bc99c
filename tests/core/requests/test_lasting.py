"""What requests say of themselves goes together."""

from __future__ import annotations

from mqframe_admin.requests import DeleteTopicInBroker
from request_kinds import ROCKETMQ_S

from mqframe.core.requests.lasting import AtSlaves, Saved

KINDS = list(ROCKETMQ_S.values())
SAVED_BY_THEIR_HANDLERS = {DeleteTopicInBroker}
"""The queues are gone before the topic is."""


def test_what_changes_tables_that_slaves_copy_is_saved_and_a_change() -> None:
    tables = {kind for kind in KINDS if kind.AT_SLAVES is AtSlaves.TABLES}
    assert len(tables) == 10
    assert {kind for kind in tables if kind.SAVED is Saved.NOTHING} == SAVED_BY_THEIR_HANDLERS
    assert [kind for kind in tables if not kind.NEEDS.changes] == []


def test_what_is_saved_is_a_change() -> None:
    assert [kind for kind in KINDS if kind.SAVED is not Saved.NOTHING and not kind.NEEDS.changes] == []


def test_slaves_refuse_with_a_code_and_in_words() -> None:
    told = {each: (each.refuses, each.code, bool(each.why)) for each in AtSlaves}
    assert told == {
        AtSlaves.SERVED: (False, 0, False),
        AtSlaves.PULLS: (False, 2, True),
        AtSlaves.MESSAGES: (True, 14, True),
        AtSlaves.TABLES: (True, 1, True),
        AtSlaves.TRANSACTIONS: (True, 11, True),
    }
