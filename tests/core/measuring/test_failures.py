from mqframe.core.measuring.failures import FailureCount


def test_all_are_counted_and_the_first_and_other_ones_told():
    count = FailureCount()
    assert [count.note(ValueError("a")) for _ in range(9)] == [
        True, True, False, True, False, False, False, True, False,
    ]  # fmt: skip
    assert count.note(ValueError("b"))
    assert count.note(KeyError("b"))
    assert not count.note(KeyError("b"))
    assert count.total == 12


def test_a_success_is_told_when_a_failure_before_it_was() -> None:
    count = FailureCount()
    assert not count.well()
    told = [count.note(ValueError("x")) for _ in range(3)]
    assert told == [True, True, False]
    assert [count.well(), count.well()] == [True, False]
    assert count.note(ValueError("x")), "the fourth"
    assert count.well()
    assert not count.note(ValueError("x")), "it comes and goes: the fifth is not told"
    assert not count.well(), "nor is its end"
