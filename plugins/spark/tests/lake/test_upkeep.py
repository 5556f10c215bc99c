"""When files are too many."""

from mqframe_spark.lake.upkeep import is_crowd


def test_an_open_day_waits_for_many_files_and_one_that_is_over_for_two() -> None:
    today = "2026-11-21"
    assert [is_crowd(n, today, today, 60) for n in (2, 59, 60)] == [False, False, True]
    assert [is_crowd(n, "2026-11-20", today, 60) for n in (1, 2, 60)] == [False, True, True]
    assert not is_crowd(1, today, today, 1)
