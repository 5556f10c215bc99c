import pytest

from mqframe.core.measuring.meter import Meter


def test_a_rate_is_what_was_added_over_about_that_time():
    meter = Meter(0.0)
    for second in range(10, 101, 10):
        meter.total += 50 if second <= 50 else 100
        meter.sample(float(second))
    assert meter.per_second(100.0, 10) == pytest.approx(10)
    assert meter.per_second(100.0, 20) == pytest.approx(10)
    assert meter.per_second(100.0, 100) == pytest.approx(7.5)
    assert meter.per_second(100.0, 600) == pytest.approx(7.5)


def test_a_new_meter_has_no_rate():
    assert Meter(5.0).per_second(5.0, 10) == 0.0
    assert Meter(5.0).per_second(50.0, 10) == 0.0


def test_what_lies_further_back_than_ten_minutes_is_forgotten():
    meter = Meter(0.0)
    meter.total = 1_000_000
    for second in range(10, 1001, 10):
        meter.sample(float(second))
    assert meter.per_second(1000.0, 600) == 0.0
