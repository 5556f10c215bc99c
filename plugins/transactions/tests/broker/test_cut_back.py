"""Half messages beside a log that is cut: those are open again whose end is cut off."""

from __future__ import annotations

from mqframe_transactions.broker.cut_back import HalvesCutBack
from mqframe_transactions.rules.half_rules import CHECK_GROUP
from stopped_store import StoppedStoreOnPaper, cut_record, shown

from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.hooks.interfaces import OffsetPlace

HALVES = OffsetPlace(HALF_TOPIC, CHECK_GROUP, 0)
ENDS = OffsetPlace(OP_HALF_TOPIC, CHECK_GROUP, 0)
STORE = StoppedStoreOnPaper()


def test_halves_are_looked_at_from_the_first_whose_end_is_cut_off() -> None:
    cut = HalvesCutBack()
    shown(cut, [(cut_record(OP_HALF_TOPIC), body) for body in (b"9,5,", b"", b"7")])
    assert [cut.offset(HALVES, offset, STORE) for offset in (8, 5, 3)] == [5, 5, 3]
    assert cut.offset(ENDS, 8, STORE) == 0
    assert cut.offset(OffsetPlace("t", "g", 0), 8, STORE) == 8


def test_without_such_ends_all_stays() -> None:
    cut = HalvesCutBack()
    shown(cut, [(cut_record("t"), b"5"), (cut_record(HALF_TOPIC), b"6"), (cut_record(OP_HALF_TOPIC), b"no")])
    assert [cut.offset(place, 8, STORE) for place in (HALVES, ENDS)] == [8, 8]
