from mqframe.core.budget import Budget


def test_count_and_bytes_are_limits():
    budget = Budget(2, 100)
    assert budget.take(60)
    assert not budget.take(41)
    assert budget.take(40)
    assert not budget.fits(0)
    budget.give(60)
    assert budget.take(60)
    budget.give(100, 2)
    assert (budget.count, budget.bytes) == (0, 0)


def test_something_larger_than_the_limit_goes_alone():
    budget = Budget(2, 100)
    assert budget.take(500)
    assert not budget.take(1)
    budget.give(500)
    assert budget.take(1)
    assert not budget.take(500)
