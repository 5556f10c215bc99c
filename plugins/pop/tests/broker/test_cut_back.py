"""Pops beside a log that is cut: what counted on it is popped again."""

from __future__ import annotations

from mqframe_pop.broker.cut_back import PopsCutBack
from stopped_store import StoppedStoreOnPaper, cut_record, shown

from mqframe.hooks.interfaces import OffsetPlace

REVIVE = "rmq_sys_REVIVE_LOG_c"
REVIVER = OffsetPlace(REVIVE, "CID_RMQ_SYS_REVIVE_GROUP", 1)


def point(offset: int, queue_id: int = 2) -> tuple[object, bytes]:
    """The check point of a pop of group "g" from "t"."""
    return cut_record(REVIVE, "TAGS\x01ck\x02"), b'{"t":"t","c":"g","q":%d,"so":%d,"n":1}' % (
        queue_id,
        offset,
    )


def given_back(
    popped_ms: int, unique: str, topic: str = "%RETRY%g_t", born_ms: int = 0
) -> tuple[object, bytes]:
    return cut_record(topic, f"1ST_POP_TIME\x01{popped_ms}\x02UNIQ_KEY\x01{unique}\x02", born_ms), b"body"


def after(*records: tuple[object, bytes]) -> PopsCutBack:
    cut = PopsCutBack()
    shown(cut, records)
    return cut


def test_a_group_goes_back_to_its_first_pop_that_is_cut_off() -> None:
    broken = cut_record(REVIVE, "TAGS\x01ck\x02"), b"{"
    cut, store = after(point(50), point(40), point(70, 1), broken), StoppedStoreOnPaper()
    places = [OffsetPlace("t", "g", 2), OffsetPlace("t", "g", 1), OffsetPlace("t", "h", 2)]
    assert [cut.offset(place, 60, store) for place in places] == [40, 60, 60]


def test_the_reviver_reads_again_from_the_cut() -> None:
    store = StoppedStoreOnPaper(first={(REVIVE, 1): 4})
    assert after(point(40)).offset(REVIVER, 5, store) == 3
    assert after().offset(REVIVER, 2, store) == 2


def test_check_points_from_the_earliest_pop_on_count_again_of_which_a_message_was_given_back() -> None:
    records = [cut_record(REVIVE, stored_ms=1000 * number) for number in range(6)]
    store = StoppedStoreOnPaper(records={(REVIVE, 1): records})
    cut = after(given_back(4000, "u"), given_back(2000, "v"))
    assert cut.offset(REVIVER, 5, store) == 1


def test_what_was_given_back_without_a_check_point_is_popped_again() -> None:
    day = 86_400_000
    listed = [cut_record("t", f"UNIQ_KEY\x01u{number}\x02", stored_ms=10 * day) for number in range(6)]
    store = StoppedStoreOnPaper(records={("t", 2): listed})
    place = OffsetPlace("t", "g", 2)
    born = 10 * day
    assert after(given_back(born, "u3", born_ms=born)).offset(place, 6, store) == 3
    assert after(given_back(born, "u3", "%RETRY%g+t", born)).offset(place, 6, store) == 3
    assert after(given_back(born, "u3", "%RETRY%h_t", born)).offset(place, 6, store) == 6
    # Nobody looks further back than a message can have been stored before it was born.
    assert after(given_back(born, "u3", born_ms=12 * day)).offset(place, 6, store) == 6
