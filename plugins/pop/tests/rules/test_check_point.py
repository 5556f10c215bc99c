import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_pop.rules.bodies import CheckPointBody
from mqframe_pop.rules.check_point import RETRY_AFTER_SECONDS, CheckPoint, Kept, Key, key_of

KEY = Key("t", "g", 1, 10, 1000)


def point(*offsets: int) -> CheckPoint:
    return CheckPoint(KEY, 500, offsets or (10, 11, 14), 3, 15)


def test_messages_are_out_until_their_time_is_over():
    pop = point()
    assert (pop.visible_at, pop.finished, pop.settled) == (1500, False, False)
    assert [pop.is_open(offset, 1499) for offset in (9, 10, 11, 12, 14)] == [False, True, True, False, True]
    assert not pop.is_open(10, 1500)
    pop.finish(10)
    assert not pop.is_open(10, 1000)
    assert pop.begin_revival() == (11, 14)


@given(st.sets(st.integers(0, 60), max_size=32))
def test_messages_are_found_wherever_they_lie_in_the_queue(offsets: set[int]):
    pop = CheckPoint(KEY, 500, tuple(sorted(offsets)), 3, 61)
    for offset in range(61):
        assert pop.is_open(offset, 1499) == (offset in offsets)
        pop.finish(offset)
        assert not pop.is_open(offset, 1499)
        assert pop.done.bit_count() == len([each for each in offsets if each <= offset])
    assert pop.finished


def test_in_memory_it_is_gone_with_its_last_message():
    pop = point()
    for offset in pop.offsets:
        assert not pop.gone
        pop.finish(offset)
    assert (pop.finished, pop.settled, pop.gone) == (True, True, True)


def test_in_the_revive_log_its_end_has_to_be_written():
    pop = point()
    pop.finish(10)
    pop.write()
    assert (pop.kept, pop.settled) == (Kept.WRITING, False)
    pop.confirm(7)
    assert (pop.settled, pop.gone, pop.revive_offset) == (True, False, 7)
    assert pop.take_unwritten() == []
    pop.finish(11)
    pop.finish(14)
    assert (pop.finished, pop.gone) == (True, False)
    assert pop.take_unwritten() == [11, 14]
    assert pop.gone


def test_what_the_store_refused_is_in_memory_again():
    pop = point()
    pop.write()
    pop.refuse()
    assert (pop.kept, pop.settled) == (Kept.MEMORY, False)
    pop.confirm(3)
    pop.write()
    pop.refuse()
    assert pop.kept is Kept.LOGGED


def test_failures_are_tried_again_later_and_later():
    pop = point()
    waits = []
    for _ in range(len(RETRY_AFTER_SECONDS) + 1):
        pop.begin_revival()
        pop.postpone(2000)
        waits.append((pop.revive_at - 2000) // 1000)
    assert waits == [*RETRY_AFTER_SECONDS, 7200]
    assert not pop.is_open(10, 2000)


@given(st.sets(st.integers(0, 31), min_size=1), st.data())
def test_records_survive(distances: set[int], data: st.DataObject):
    pop = CheckPoint(KEY, 500, tuple(10 + distance for distance in sorted(distances)), 3)
    for offset in data.draw(st.sets(st.sampled_from(pop.offsets))):
        pop.finish(offset)
    body = pop.body("b")
    assert -(2**31) <= body.bits < 2**31
    again = CheckPoint.restored(body, 3, 99)
    assert again is not None
    assert (again.key, again.offsets, again.done, again.visible_at) == (
        pop.key,
        pop.offsets,
        pop.done,
        pop.visible_at,
    )
    assert (again.kept, again.revive_offset, again.written) == (Kept.LOGGED, 99, pop.done)


def test_a_record_of_the_old_form_names_a_run_of_offsets():
    body = CheckPointBody(topic="t", group="g", start_offset=5, count=3)
    again = CheckPoint.restored(body, 0, 0)
    assert again is not None
    assert again.offsets == (5, 6, 7)


@pytest.mark.parametrize("body", [CheckPointBody(), CheckPointBody(topic="t"), CheckPointBody(group="g")])
def test_a_record_without_topic_or_group_stands_for_nothing(body: CheckPointBody):
    assert key_of(body) is None
    assert CheckPoint.restored(body, 0, 0) is None


def test_acknowledgements_name_one_message_or_several():
    pop = point()
    one, two = pop.acknowledgement([10], "b"), pop.acknowledgement([10, 14], "b")
    assert (one.offset, one.offsets) == (10, None)
    assert (two.offset, two.offsets) == (-1, [10, 14])
    assert key_of(one) == key_of(two) == KEY
