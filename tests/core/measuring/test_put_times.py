from __future__ import annotations

from mqframe.core.measuring.put_times import PutTimes

NONE = (
    "[<=0ms]:0 [0~10ms]:0 [10~50ms]:0 [50~100ms]:0 [100~200ms]:0 [200~500ms]:0 [500ms~1s]:0 [1~2s]:0 "
    "[2~3s]:0 [3~4s]:0 [4~5s]:0 [5~10s]:0 [10s~]:0 "
)


def test_the_last_whole_minute_is_told() -> None:
    times = PutTimes(now=100.0)
    for took_ms in (0.2, 0.9, 7, 30, 30, 99, 150, 499, 999, 1500, 2500, 3500, 4500, 9000, 20_000):
        times.add(took_ms)
    times.sample(159.9)
    assert times.distribution() == NONE
    times.sample(160.0)
    assert times.distribution() == (
        "[<=0ms]:2 [0~10ms]:1 [10~50ms]:2 [50~100ms]:1 [100~200ms]:1 [200~500ms]:1 [500ms~1s]:1 [1~2s]:1 "
        "[2~3s]:1 [3~4s]:1 [4~5s]:1 [5~10s]:1 [10s~]:1 "
    )
    times.add(3)
    times.sample(220.0)
    assert times.distribution() == NONE.replace("[0~10ms]:0", "[0~10ms]:1")
    times.sample(280.0)
    assert times.distribution() == NONE


def test_the_longest_is_kept() -> None:
    times = PutTimes(now=0.0)
    for took_ms in (3.0, 1234.5, 2.0):
        times.add(took_ms)
    times.sample(60.0)
    times.sample(120.0)
    assert times.longest_ms == 1234.5


def test_a_quantile_lies_between_the_bounds_of_its_span() -> None:
    times = PutTimes(now=0.0)
    assert times.quantile_ms(0.99) == 0.0
    for _ in range(990):
        times.add(0.5)
    for _ in range(10):
        times.add(240.0)
    times.sample(60.0)
    assert times.quantile_ms(0.5) == 500 / 990
    assert times.quantile_ms(0.99) == 1.0
    assert times.quantile_ms(0.999) == 200 + 50 * 9 / 10


def test_what_took_longer_than_all_bounds_counts_as_the_last() -> None:
    times = PutTimes(now=0.0)
    times.add(60_000)
    times.sample(60.0)
    assert times.quantile_ms(1.0) == 10_000.0


def test_several_that_took_as_long_count_as_each_of_them_would() -> None:
    one_by_one, at_once = PutTimes(now=0.0), PutTimes(now=0.0)
    for took_ms in (0.4, 7.5):
        for _ in range(3):
            one_by_one.add(took_ms)
        at_once.add(took_ms, 3)
    for times in (one_by_one, at_once):
        times.sample(60.0)
    assert at_once.distribution() == one_by_one.distribution() != NONE
    assert at_once.longest_ms == one_by_one.longest_ms
