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
